"""The build child: writes the facts that the guard judges, and compiles a CUDA kernel. It runs no code of the job, and
has no GPU.

It leaves in out/:

    status         ok, failed, memory or unsupported
    message        one sentence, with file:line where there is one
    facts          what the Python sources do; guard/facts.h describes the format
    log            the output of the compiler
    module.cubin   CUDA only: the device code
    launch         CUDA only: the kernel and its arguments, for kq-launcher (launch_file.py)
    source.ii      CUDA only, if there is a compiler: the source's own lines after g++ -E with the toolkit's headers
    toolchain      CUDA, and Triton on a GPU: two lines, the compiler of device code and its flags
    toolchain_id   Python that may call load_inline or load: the compilers of this machine. The next steps are a
                   tracing child (extensions/tracing_child.py) and compile children (extensions/compile_child.py).
    kq_triton      other Python that may launch Triton kernels on a GPU: the next step is a tracing child
                   (triton_precompile.py)
"""

import contextlib
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from harness.children import preforked
from harness.children.channel import CHANNEL_FD, ChannelClosed
from harness.children.job import Job
from harness.extensions import toolchain, tracing_child
from harness.facts.ast_facts import facts_of
from harness.facts.syntax_errors import syntax_error_text
from harness.kernels import device_code, launch_file, scalar_arguments, triton_precompile
from harness.kernels.device_code import BuildFailed, CompileRequest
from harness.kernels.kernel_spec import BadSpec, read_names, read_spec, spec_path
from harness.kernels.nvrtc import CompileError, Nvrtc, NvrtcMissing, shared_nvrtc, toolkits
from harness.kernels.preprocess import preprocessed
from harness.zygote import huge_pages

MESSAGE_MAX = 2000
LOG_MAX = 200_000
ARCH = "sm_90"  # if the order names no architecture
WARM_UP = b'extern "C" __global__ void warm_up(float* x) { x[threadIdx.x] += 1.0f; }'
WARM_UPS = 2
# A source that hides these words is not built ahead; its calls then fail with a message (extensions/loader.py).
EXTENSIONS = re.compile(rb"load_inline|cpp_extension")
TRITON = re.compile(rb"triton.*\bjit\b|@jit\b")


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
        status, message = "unsupported", f"{error}; a worker with CUDA can run it"
    (job.out / "message").write_text(message[:MESSAGE_MAX], errors="replace")
    (job.out / "status").write_text(status + "\n")
    return 0


def warm_up(compiler: Nvrtc, arch: str) -> None:
    """Compiles a tiny kernel, because the first compiles of a process take some milliseconds longer than later ones."""
    for _ in range(WARM_UPS):
        compiler.compile(WARM_UP, "warm_up.cu", [f"--gpu-architecture={arch}", "--minimal"], ["warm_up"])


def wait_and_run(job: Job) -> int:
    """Waits for a job with NVRTC's first compiles done, and then builds it."""
    with contextlib.suppress(CompileError, NvrtcMissing):  # the build itself reports the error
        huge_pages.enable_for_process()
        warm_up(shared_nvrtc(), job.arch or ARCH)
    try:
        packet = preforked.receive(socket.socket(fileno=CHANNEL_FD))
    except ChannelClosed:
        return 0
    return run(preforked.with_assignment(job, packet))


def write_facts(job: Job) -> None:
    """Writes the facts of every Python source except the problem's, which the guard does not judge."""
    texts = []
    # What X.json names is called by the harness, even if the file itself never mentions it.
    is_named = job.backend != "cuda" and read_names(spec_path(job.source / job.entry)) is not None
    paths = sources_of(job)
    for path in paths:
        source = path.read_bytes()
        try:
            texts.append(facts_of(source, path.name, alone=len(paths) == 1 and not is_named))
        except SyntaxError as error:
            raise BuildFailed(f"{path.name}:{error.lineno or 1}: {syntax_error_text(error, source)}") from error
        except ValueError as error:
            raise BuildFailed(f"{path.name}: {error}") from error
    (job.out / "facts").write_text("".join(texts))
    if mentions(EXTENSIONS, paths):
        (job.out / "toolchain_id").write_text(toolchain.identity())
    elif job.on_gpu and mentions(TRITON, paths):
        (job.out / "toolchain").write_text(triton_precompile.compiler_description(job.arch) + "\n")
        (job.out / "kq_triton").touch()


def sources_of(job: Job) -> list[Path]:
    return [path for path in sorted(job.given.glob("*.py")) if path.name != job.problem]


def mentions(words: re.Pattern[bytes], paths: list[Path]) -> bool:
    return any(words.search(path.read_bytes()) for path in paths)


def trace(job: Job) -> int:
    """Runs the tracing child: for extensions if the sources mention them, else for Triton kernels."""
    if mentions(EXTENSIONS, sources_of(job)):
        return tracing_child.run(job)
    return triton_precompile.run(job)


def compile_cuda(job: Job) -> None:
    entry = job.source / job.entry
    spec = read_spec(spec_path(entry))
    order = CompileRequest(entry, spec, job.arch or ARCH, job.work)
    huge_pages.enable_for_process()
    with ThreadPoolExecutor(max_workers=1) as pool:
        # g++ runs beside the compiler, because it takes as long.
        lines = pool.submit(preprocess, order)
        try:
            built = device_code.build(order)
        except CompileError as error:
            (job.out / "log").write_text(str(error)[:LOG_MAX], errors="replace")
            if any(words in str(error) for words in device_code.NO_MEMORY):
                raise MemoryError from error
            raise BuildFailed(device_code.first_error(str(error), entry.name)) from error
        finally:
            if (text := lines.result()) is not None:
                (job.out / "source.ii").write_bytes(text)
    args = spec.args or ()
    if built.parameters is not None:
        args = scalar_arguments.fit_arguments(
            args, built.parameters, spec.kernel_name or built.kernel, spec_path(entry).name
        )
    (job.out / "log").write_text(built.log[:LOG_MAX], errors="replace")
    (job.out / "launch").write_text(launch_file.text_of(replace(spec, args=args), built.kernel))
    (job.out / "module.cubin").write_bytes(built.cubin)
    (job.out / "toolchain").write_text(f"{built.compiler}\n{built.flags}\n")


def preprocess(order: CompileRequest) -> bytes | None:
    """Returns the source after the macros of headers are replaced, for the guard; None without a compiler."""
    if order.entry.suffix != ".cu":
        return None
    toolkit = next(iter(toolkits()), None)
    headers = toolkit.include if toolkit is not None else None
    includes = [
        *order.includes,
        *([path for path in (headers, headers / "cccl") if path.is_dir()] if headers is not None else []),
    ]
    return preprocessed(
        order.entry, includes, [option for option in order.spec.compiler_options if option.startswith("-D")]
    )
