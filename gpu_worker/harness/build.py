"""The build child: facts for the guard, and device code for a CUDA kernel. It runs nothing of the job.

It leaves in out/:

    status         ok, failed, memory or unsupported
    message        one sentence, with file:line where there is one
    facts          guard/facts.h
    log            what the compiler said
    module.cubin   cuda only: the device code
    launch         cuda only: the kernel and its arguments, for the launcher (harness/launch_file.py)
    source.ii      cuda only: the source's own lines after g++ -E, with the toolkit's headers; where there is a compiler
    toolchain      cuda only: two lines, what compiled it and with which flags
    toolchain_id   Python that may call load_inline or load: what they are compiled with on this machine. The next steps are the record child's
                   (extension_record.py) and the compile child's (extension_compile.py).
"""

import re
from pathlib import Path

from harness import extension_tools, launch_file
from harness.ast_facts import facts_of
from harness.kernel_spec import BadSpec, read_names, read_spec, spec_path
from harness.nvrtc import CompileError, Nvrtc, NvrtcMissing
from harness.preprocess import preprocessed
from harness.role import Job

MESSAGE_MAX = 2000
LOG_MAX = 200_000
GLOBAL = re.compile(
    rb"__global__\s+(?:[A-Za-z_][\w:]*\s+|__launch_bounds__\s*\([^)]*\)\s*)*?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?([A-Za-z_]\w*)\s*\("
)
# Whoever hides these words better is told so when it calls (extension_serve.py).
EXTENSIONS = re.compile(rb"load_inline|cpp_extension")
COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
# "add.cu(12): error: ..." of NVRTC
COMPLAINT = re.compile(r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?:catastrophic )?error:? ?(?P<words>.*)$", re.MULTILINE)
NO_MEMORY = "catastrophic error: out of memory"


class BuildFailed(Exception):
    """The source's fault, in one sentence."""


def run(job: Job) -> int:
    status, message = "ok", ""
    try:
        write_facts(job)
        if job.backend == "cuda":
            compile_cuda(job)
    except (BuildFailed, BadSpec) as error:
        status, message = "failed", str(error)
    except MemoryError:
        status, message = "memory", "the build took more memory than a build may have"
    except NvrtcMissing as error:
        status, message = "unsupported", str(error)
    (job.out / "message").write_text(message[:MESSAGE_MAX], errors="replace")
    (job.out / "status").write_text(status + "\n")
    return 0


def write_facts(job: Job) -> None:
    """Of every Python source but the problem's, which is not on trial."""
    texts = []
    # What X.json names is called by us, however little the file mentions it.
    is_named = job.backend != "cuda" and read_names(spec_path(job.source / job.entry)) is not None
    paths = [path for path in sorted(job.source.glob("*.py")) if path.name != job.problem]
    for path in paths:
        try:
            texts.append(facts_of(path.read_bytes(), path.name, alone=len(paths) == 1 and not is_named))
        except SyntaxError as error:
            raise BuildFailed(f"{path.name}:{error.lineno or 1}: {error.msg}") from error
        except ValueError as error:
            raise BuildFailed(f"{path.name}: {error}") from error
    (job.out / "facts").write_text("".join(texts))
    if any(EXTENSIONS.search(path.read_bytes()) for path in paths):
        (job.out / "toolchain_id").write_text(extension_tools.identity())


def compile_cuda(job: Job) -> None:
    entry = job.source / job.entry
    source = entry.read_bytes()
    spec = read_spec(spec_path(entry))
    kernel = spec.kernel_name or first_kernel(source, entry.name)
    nvrtc = Nvrtc()
    options = [f"--gpu-architecture={job.arch or 'sm_90'}", f"--include-path={job.source}"]
    if nvrtc.include is not None:
        options.append(f"--include-path={nvrtc.include}")
        # CUDA 13 keeps its C++ library apart.
        options += [f"--include-path={path}" for path in (nvrtc.include / "cccl",) if path.is_dir()]
    includes = [Path(option.partition("=")[2]) for option in options if option.startswith("--include-path=")]
    lines = preprocessed(entry, includes, [option for option in spec.compiler_options if option.startswith("-D")])
    if lines is not None:
        (job.out / "source.ii").write_bytes(lines)
    try:
        compiled = nvrtc.compile(source, entry.name, options + list(spec.compiler_options), [kernel])
    except CompileError as error:
        (job.out / "log").write_text(str(error)[:LOG_MAX], errors="replace")
        if NO_MEMORY in str(error):
            raise MemoryError from error
        raise BuildFailed(first_complaint(str(error), entry.name)) from error
    (job.out / "log").write_text(compiled.log[:LOG_MAX], errors="replace")
    (job.out / "launch").write_text(launch_file.text_of(spec, compiled.names[kernel]))
    (job.out / "module.cubin").write_bytes(compiled.cubin)
    (job.out / "toolchain").write_text(f"NVRTC {nvrtc.version}\n{' '.join([options[0], *spec.compiler_options])}\n")


def first_kernel(source: bytes, name: str) -> str:
    found = GLOBAL.search(COMMENTS.sub(b" ", source))
    if found is None:
        raise BuildFailed(f"{name}: has no __global__ function")
    return found.group(1).decode()


def first_complaint(log: str, entry: str) -> str:
    """ "add.cu:12: identifier "x" is undefined" """
    found = COMPLAINT.search(log)
    if found is None:
        return f"{entry}: {log.strip().splitlines()[0] if log.strip() else 'does not compile'}"
    return f"{Path(found['file']).name}:{found['line']}: {found['words']}"
