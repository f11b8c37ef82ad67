"""Makes a cubin of a CUDA job's file: X.cu by NVRTC or nvcc, X.ptx by ptxas, X.cubin as it is. The build child calls
it.

NVRTC is first called with --minimal, without what small kernels do not use (textures, types of the CUDA runtime), which
is faster, and again without --minimal if that fails.
"""

import re
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from harness.extensions import toolchain
from harness.kernels import cubin, kernel_spec
from harness.kernels.kernel_spec import KernelSpec
from harness.kernels.nvrtc import CompileError, NvrtcMissing, shared_nvrtc, toolkits

GLOBAL = re.compile(
    rb"__global__\s+(?:[A-Za-z_][\w:]*\s+|__launch_bounds__\s*\([^)]*\)\s*)*?"
    rb"void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?([A-Za-z_]\w*)\s*\("
)
COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
ENTRIES = re.compile(rb"^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$.]+)", re.M)
# Matches "add.cu(12): error: ..." of NVRTC and nvcc, and "ptxas add.ptx, line 12; error : ...".
FIRST_ERROR = re.compile(
    r"^(?:ptxas )?(?P<file>[^\s(,]+)(?:\((?P<line>\d+)\):|, line (?P<line2>\d+);) *"
    r"(?:catastrophic |fatal +)?error *:? ?(?P<words>.*)$",
    re.MULTILINE,
)
NO_MEMORY = ("catastrophic error: out of memory", "std::bad_alloc")


class BuildFailed(Exception):
    """The source is at fault; the text is one sentence."""


@dataclass(frozen=True)
class Built:
    cubin: bytes
    kernel: str  # the name in the cubin
    parameters: tuple[int, ...] | None  # the bytes of each parameter; None if the cubin does not tell
    log: str
    compiler: str
    flags: str


@dataclass(frozen=True)
class CompileRequest:
    """What to compile, for which architecture, and a folder for temporary files."""

    entry: Path
    spec: KernelSpec
    arch: str  # "sm_90"
    work: Path

    @property
    def includes(self) -> list[Path]:
        return [self.entry.parent]


def build(request: CompileRequest) -> Built:
    """Raises BuildFailed, CompileError with a compiler's log, or NvrtcMissing if this machine has no compiler for the
    file.
    """
    match request.entry.suffix:
        case ".cubin":
            return checked_build(request.entry.read_bytes(), request, request.spec.kernel_name, "", "as submitted", "")
        case ".ptx":
            return build_with_ptxas(request)
    request = replace(request, arch=arch_variant(request))
    return build_with_nvcc(request) if request.spec.compiler == "nvcc" else build_with_nvrtc(request)


def build_with_nvrtc(request: CompileRequest) -> Built:
    nvrtc = shared_nvrtc()
    wanted = wanted_kernel(request)
    passed = [option for option in request.spec.compiler_options if not kernel_spec.OF_NVCC_ALONE.fullmatch(option)]
    options = [
        f"--gpu-architecture={request.arch}",
        *(f"--include-path={path}" for path in [*request.includes, *nvrtc.includes]),
    ]
    source = request.entry.read_bytes()
    try:
        compiled = nvrtc.compile(source, request.entry.name, [*options, "--minimal", *passed], [wanted])
    except CompileError as error:
        if any(words in str(error) for words in NO_MEMORY):
            raise
        compiled = nvrtc.compile(source, request.entry.name, [*options, *passed], [wanted])
    flags = " ".join([options[0], *passed])
    return checked_build(compiled.cubin, request, compiled.names[wanted], compiled.log, f"NVRTC {nvrtc.version}", flags)


def build_with_nvcc(request: CompileRequest) -> Built:
    tools = toolchain.find_toolchain()
    if not tools.nvcc:
        raise NvrtcMissing("no nvcc here, which this kernel asks for; install CUDA, or set CUDA_HOME to where it is")
    wanted = wanted_kernel(request)
    # fixed names, because nvcc passes file names to a shell
    source, out = request.work / "kernel.cu", request.work / "module.cubin"
    text = request.entry.read_bytes()
    if "<" in wanted:
        # A template instance is compiled for the device if host code takes its address.
        text += f'\n#line 1 "kernel_name"\nstatic void* kq_wanted = (void*)({wanted});\n'.encode()
    source.write_bytes(b'#line 1 "%s"\n' % re.sub(r"[\"\\]", "_", request.entry.name).encode() + text)
    options = [f"-arch={request.arch}", *request.spec.passed_to_nvcc]
    result = toolchain.run(
        [tools.nvcc, "-cubin", *options, *(f"-I{path}" for path in request.includes), "-o", str(out), str(source)],
        request.work,
    )
    if result.code != 0 or not out.exists():
        raise CompileError(result.text.strip() or "nvcc failed")
    return checked_build(
        out.read_bytes(), request, wanted, result.text, f"nvcc {toolchain.version_of(tools.nvcc)}", " ".join(options)
    )


def build_with_ptxas(request: CompileRequest) -> Built:
    ptxas = find_ptxas()
    if ptxas is None:
        raise NvrtcMissing("no ptxas here, which PTX needs; install CUDA or triton")
    wanted = request.spec.kernel_name
    entries = [name.decode() for name in ENTRIES.findall(COMMENTS.sub(b" ", request.entry.read_bytes()))]
    if wanted is None and entries:
        wanted = entries[0]
    out = request.work / "module.cubin"
    result = toolchain.run([ptxas, f"-arch={request.arch}", "-o", str(out), str(request.entry)], request.work)
    if result.code != 0 or not out.exists():
        raise CompileError(result.text.strip() or "ptxas failed")
    return checked_build(
        out.read_bytes(), request, wanted, result.text, f"ptxas {toolchain.version_of(ptxas)}", f"-arch={request.arch}"
    )


def checked_build(
    data: bytes, request: CompileRequest, wanted: str | None, log: str, compiler: str, flags: str
) -> Built:
    """Checks the architecture of the compiled code and finds the kernel in it. Raises BuildFailed."""
    try:
        code = cubin.read(data)
    except cubin.BadCubin as error:
        raise BuildFailed(f"{request.entry.name}: {error}") from error
    number = int(re.sub(r"\D", "", request.arch) or 0)
    if code.arch // 10 != number // 10 or code.arch > number:
        raise BuildFailed(f"{request.entry.name}: is for sm_{code.arch}, the device is sm_{number}")
    kernel = cubin.find(code, wanted)
    if kernel is None:
        known = ", ".join(list(code.parameters)[:20]) or "none"
        reason = "which kernel is meant? say kernel_name" if wanted is None else f"has no kernel {wanted}"
        raise BuildFailed(f"{request.entry.name}: {reason}; there are: {known}")
    return Built(data, kernel, code.parameters[kernel], log, compiler, flags)


def compilers(identity: str) -> str:
    """Returns one line that identifies the compilers of this machine, with those of extensions in it. It is part of
    every build's key, and equal on machines that build the same.
    """
    toolkit = next(iter(toolkits()), None)
    # NVRTC's own version has two numbers only, and hashing the library takes long on a cold disk, so its file name and
    # size are used.
    nvrtc = f"{toolkit.library.resolve().name} {toolkit.library.stat().st_size}" if toolkit is not None else "no NVRTC"
    words = f"{identity} {nvrtc} ptxas {toolchain.version_of(find_ptxas() or '')}"
    # A child looks for the tools again, because they may have changed by then.
    toolchain.find_toolchain.cache_clear()
    toolchain.version_of.cache_clear()
    return words


def wanted_kernel(request: CompileRequest) -> str:
    """Returns the wanted kernel as a C++ expression: the named kernel, as an instance if name_expressions has one of
    that name; else the first kernel of the source.
    """
    name, expressions = request.spec.kernel_name, request.spec.name_expressions
    if name is not None:
        return next((expression for expression in expressions if expression.partition("<")[0].strip() == name), name)
    return expressions[0] if expressions else first_kernel(request.entry.read_bytes(), request.entry.name)


def first_kernel(source: bytes, name: str) -> str:
    match = GLOBAL.search(COMMENTS.sub(b" ", source))
    if match is None:
        raise BuildFailed(f"{name}: has no __global__ function")
    return match.group(1).decode()


def arch_variant(request: CompileRequest) -> str:
    """Returns "sm_90a" if an option asks for it and the device is an sm_90, so that instructions of that variant may be
    used.
    """
    for option in request.spec.compiler_options:
        asked = kernel_spec.ARCH.fullmatch(option)
        if asked and f"sm_{asked.group('number')}" == request.arch:
            return request.arch + asked.group("letter")
    return request.arch


def find_ptxas() -> str | None:
    """Returns the path of ptxas: the toolkit's, or triton's."""
    places = [toolkit.library.parent.parent / "bin/ptxas" for toolkit in toolkits()]
    places += [Path(path) / "triton/backends/nvidia/bin/ptxas" for path in sys.path if path]
    return next((str(place) for place in places if place.exists()), shutil.which("ptxas"))


def first_error(log: str, entry: str) -> str:
    """Returns the first error of a log, such as 'add.cu:12: identifier "x" is undefined'."""
    match = FIRST_ERROR.search(log)
    if match is None:
        return f"{entry}: {log.strip().splitlines()[0] if log.strip() else 'does not compile'}"
    return f"{Path(match['file']).name}:{match['line'] or match['line2']}: {match['words']}"
