"""Builder."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.children.job import Job
from harness.extensions import compiler_error, compiler_flags, cuda_split
from harness.extensions.compiler_error import FIRST_ERROR, error_excerpt
from harness.extensions.compiler_flags import Flags
from harness.extensions.cuda_tokens import Refused
from harness.extensions.loader_call import Call, source_label
from harness.extensions.nvcc_steps import side_by_side
from harness.extensions.registration import registration
from harness.extensions.sources import BadSource, TranslationUnit, file_units, inline_cpp, inline_units
from harness.extensions.toolchain import DEFINES, HALF_DEFINES, STANDARD, find_toolchain, run
from harness.extensions.torch_headers import REPLACED, header_text, host_flags, known_headers
from harness.kernels.cubin import plain_name

OPTIMISED = ("2", "3", "fast")


NO_MEMORY = (
    "out of memory",
    "cannot allocate memory",
    "virtual memory exhausted",
    "std::bad_alloc",
    "Cannot allocate memory",
    "Killed signal",
)


class BuildFailed(Exception):
    """The source's fault, in one text."""


class Unsupported(Exception):
    """Nothing here can build it, in one sentence."""


@dataclass
class Attempt:
    objects: list[Path] = field(default_factory=list)
    log: str = ""
    is_tried: bool = True  # compilers saw it
    text: str = ""  # what the compiler saw that did not take it

    @property
    def is_good(self) -> bool:
        return not self.log


class ExtensionBuilder:
    def __init__(self, job: Job, call: Call) -> None:
        self.job = job
        self.call = call
        self.tools = find_toolchain()
        self.work = job.work
        self.flags: Flags = compiler_flags.read(
            call.cflags, call.cuda_cflags, call.ldflags, call.include_paths, job.arch or "sm_90"
        )
        self.pool = ThreadPoolExecutor(max_workers=8)
        self.host_pool = ThreadPoolExecutor(max_workers=8)  # what a task of the first one waits for
        variant = job.source / "variant"
        self.variant = variant.read_text() if variant.exists() else "cuda-O1" if call.with_cuda else "cpp-O1"
        self.units = inline_units(call) if call.inline else file_units(call)
        self.has_cuda = any(unit.is_cuda for unit in self.units)
        self.hosts: dict[str, Attempt] = {}  # units of C++ that one way has compiled for the next

    def build(self) -> None:
        if not self.tools.cxx:
            raise Unsupported("no g++ here")
        if self.call.with_cuda and not (self.tools.nvcc and (self.tools.torch_root / "lib/libc10_cuda.so").exists()):
            raise Unsupported("no nvcc, or no torch with CUDA, here: a worker with CUDA builds it")
        self.write_files()
        attempt = Attempt(log="nothing was tried")
        for way, build in (("split", self.split), ("slim", self.slim), ("full", self.full)):
            if way == "slim" and attempt.is_tried:
                continue  # its errors are the source's own, most likely: the headers as they are decide
            attempt = build()
            (self.job.out / f"log-{way}").write_text(attempt.log, errors="replace")
            if attempt.is_good:
                attempt = self.link(attempt.objects)
            if attempt.is_good or (way != "full" and self.is_own_error(attempt)):
                break
        (self.job.out / "toolchain").write_text(
            f"{self.tools.description(self.has_cuda)}\n{f'{self.flag_words()} ({way})'.strip()}\n", errors="replace"
        )
        if not attempt.is_good:
            if any(word in attempt.log for word in NO_MEMORY):
                raise MemoryError
            raise BuildFailed(error_excerpt(self.call, attempt.log))

    def is_own_error(self, attempt: Attempt) -> bool:
        """Whether headers or parts of the source that were left out have nothing to do with it."""
        names = (
            self.job.shared / self.variant / "header.names" if self.job.shared is not None and self.variant else None
        )
        found = FIRST_ERROR.search(attempt.log)
        if names is None or not names.exists() or found is None or found["file"] not in self.labels():
            return False
        source = [*self.call.cpp, *self.call.cuda, *(text for _, text in self.call.files), *inline_cpp(self.call)[1:]]
        flags = [*self.call.cflags, *self.call.cuda_cflags]
        return compiler_error.is_source_error(
            found["words"], source, attempt.text, names.read_bytes(), known_headers(self.call.with_cuda), flags
        )

    def labels(self) -> set[str]:
        """What compilers call the parts of the source."""
        call = self.call
        parts = [source_label("cpp_sources", i, len(call.cpp)) for i in range(len(call.cpp))] + [
            source_label("cuda_sources", i, len(call.cuda)) for i in range(len(call.cuda))
        ]
        return {*parts, "functions", *(source.partition("/")[2] for source in call.sources)}

    def flag_words(self) -> str:
        words = [*self.call.cflags, *self.call.cuda_cflags, *self.call.ldflags]
        return " ".join(dict.fromkeys([*words, *([f"-arch={self.flags.arch}"] if self.has_cuda else [])]))[:500]

    def write_files(self) -> None:
        for name, text in self.call.files:
            path = self.work / "files" / name
            if self.work / "files" not in Path(os.path.normpath(path)).parents:
                raise BadSource(f"{name}: lies outside of the build")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, errors="surrogateescape")
        shim = self.work / "shim/torch"
        shim.mkdir(parents=True)
        for name in REPLACED:
            (self.work / "shim" / name).write_text(
                "#pragma once\n#include <torch/types.h>\n#ifndef __CUDACC__\n" + header_text(False) + "#endif\n"
            )

    # --- the three ways

    def split(self) -> Attempt:
        """Host units by g++ with a precompiled header; of CUDA units that are plain enough, the host half is one."""
        if not self.has_cuda:
            return self.combined([self.pool.submit(self.host, unit, True) for unit in self.units])
        if any(name.endswith((".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".in")) for name, _ in self.call.files):
            return Attempt(log="it has headers of its own", is_tried=False)
        try:
            halves = {unit.name: cuda_split.split(unit.text) for unit in self.units if unit.is_cuda}
        except Refused as error:
            return Attempt(log=f"not split: {error}", is_tried=False)
        if self.call.inline:
            attempt = self.split_as_one(halves)
            if attempt.is_good or self.is_own_error(attempt):
                return attempt
        return self.combined([self.pool.submit(self.split_unit, unit, halves.get(unit.name)) for unit in self.units])

    def split_as_one(self, halves: dict[str, cuda_split.Split]) -> Attempt:
        """Both sources of load_inline in one go through g++: its headers are most of the work."""
        cuda = next(unit for unit in self.units if unit.is_cuda)
        cpp, module = inline_cpp(self.call)
        text = f"{cpp}\n{cuda_split.PRELUDE}\n{halves[cuda.name].host}\n{module}"
        return self.split_unit(TranslationUnit("both.cu", text, is_cuda=True), replace(halves[cuda.name], host=text))

    def split_unit(self, unit: TranslationUnit, half: cuda_split.Split | None) -> Attempt:
        if half is None:
            return self.host(unit, True)
        host_text = half.host if half.host is unit.text else cuda_split.PRELUDE + half.host
        host = self.host_pool.submit(
            self.host, TranslationUnit(f"{unit.name}.cpp", host_text, is_cuda=False, folder=unit.folder), True
        )
        plain = [kernel for kernel in half.kernels if not kernel.is_template]
        if len(plain) == len(half.kernels):
            cubin = self.cubin(unit, half.device)
            host_done = host.result()
        else:
            host_done = host.result()
            if not host_done.is_good:
                return host_done
            cubin = self.cubin(unit, half.device + self.instances(host_done.objects[0], half.kernels))
        if not host_done.is_good:
            return host_done
        if isinstance(cubin, Attempt):
            return cubin
        registered = self.register(cubin, host_done.objects[0], half)
        return Attempt(host_done.objects + registered.objects, registered.log)

    def symbols(self, object_file: Path, kernels: list[cuda_split.Kernel]) -> list[tuple[str, str]]:
        """(name in the object, as C++ has it) of every kernel's stub."""
        raw = [line.split() for line in run(["nm", "--defined-only", str(object_file)], self.work).text.splitlines()]
        names = [words[2] for words in raw if len(words) == 3 and words[1] in "TWtw"]
        plain = run(["nm", "--defined-only", "-C", str(object_file)], self.work).text.splitlines()
        found = []
        wanted = {kernel.name for kernel in kernels}
        shown = [line.split(None, 2) for line in plain]
        clear = [words[2] for words in shown if len(words) == 3 and words[1] in "TWtw"]
        for name, text in zip(names, clear):
            words = re.match(r"(?:void )?((?:\w+::)*)(\w+)(?=[<(]|$)", text)
            if words is not None and words.group(2) in wanted and "." not in name:
                found.append((name, text))
        return found

    def instances(self, object_file: Path, kernels: list[cuda_split.Kernel]) -> str:
        """What the host launches of the templates."""
        templates = {kernel.name for kernel in kernels if kernel.is_template}
        lines = []
        for _, text in self.symbols(object_file, kernels):
            words = re.match(r"void (?:\w+::)*(\w+)<", text)
            if words is not None and words.group(1) in templates:
                lines.append(f"template __global__ {text};\n")
        joined = "".join(lines)
        headers = [f"#include <c10/util/{name}.h>\n" for name in ("Half", "BFloat16") if f"c10::{name}" in joined]
        return ("\n" + "".join(headers) + joined) if "(anonymous" not in joined else "\n#error anonymous\n"

    def cubin(self, unit: TranslationUnit, text: str) -> Path | Attempt:
        source = self.work / f"{Path(unit.name).stem}.device.cu"
        # What instances need of c10 stands in front of everything.
        lines = text.splitlines(keepends=True)
        first = [line for line in lines if line.startswith("#include <c10/util/")]
        source.write_text("".join(first) + text, errors="surrogateescape")
        out = source.with_suffix(".cubin")
        includes = self.tools.includes(False)[:4] if first else []
        result = run([self.tools.nvcc, *HALF_DEFINES, "--expt-relaxed-constexpr", *self.device_flags(), *includes, *self.submission_includes(unit),
                    f"-arch={self.flags.arch}", "-cubin", "-o", str(out), str(source)], self.work)  # fmt: skip
        return out if result.code == 0 else Attempt(log=result.text or "nvcc failed", text=text)

    def host_variables(self, object_file: Path, variables: list[cuda_split.Variable]) -> dict[str, tuple[int, bool]]:
        """Of the host's variables that stand for the device's: bytes, and whether it is a constant's, by name in the object."""
        raw = [
            line.split() for line in run(["nm", "-S", "--defined-only", str(object_file)], self.work).text.splitlines()
        ]
        found = {words[3]: int(words[1], 16) for words in raw if len(words) == 4 and words[2] in "BbDdGgSs"}
        constants = {variable.name: variable.is_constant for variable in variables}
        return {
            name: (size, constants[plain]) for name, size in found.items() if (plain := plain_name(name)) in constants
        }

    def register(self, cubin: Path, object_file: Path, half: cuda_split.Split) -> Attempt:
        """The object that hands the device code, its kernels and its variables to CUDA's runtime, as nvcc's own does."""
        names = [name for name, _ in self.symbols(object_file, half.kernels)]
        variables = self.host_variables(object_file, half.variables)
        code = cubin.read_bytes()
        missing = [name for name in names if name.encode() + b"\0" not in code] + [
            name for name in variables if b"\0" + name.encode() + b"\0" not in code
        ]
        if missing or not names or len(variables) != len(half.variables):
            return Attempt(log=f"kernels or variables of the host that the device has not: {', '.join(missing)}")
        fatbin = cubin.with_suffix(".fatbin")
        number = self.flags.arch.removeprefix("sm_")
        fatbinary = str(Path(self.tools.nvcc).parent / "fatbinary")
        result = run([fatbinary, "-64", f"--create={fatbin}", f"--image3=kind=elf,sm={number},file={cubin}"], self.work)
        if result.code != 0:
            return Attempt(log=result.text or "fatbinary failed")
        source = cubin.with_suffix(".register.c")
        source.write_text(registration(fatbin, names, variables))
        return self.compiled(["-x", "c", "-O1", "-fPIC", "-w", "-c", str(source)], source)

    def slim(self) -> Attempt:
        if not self.has_cuda or not any(name in unit.text for unit in self.units if unit.is_cuda for name in REPLACED):
            return Attempt(log="nothing to leave out")
        return self.by_nvcc(True)

    def full(self) -> Attempt:
        return self.by_nvcc(False)

    def by_nvcc(self, slim: bool) -> Attempt:
        jobs = [
            self.pool.submit(self.nvcc if unit.is_cuda else self.host_with_fallback, unit, slim) for unit in self.units
        ]
        return self.combined(jobs)

    def host_with_fallback(self, unit: TranslationUnit, slim: bool) -> Attempt:
        attempt = self.hosts.get(unit.name) or self.host(unit, True)
        if not attempt.is_good:
            attempt = self.host(unit, False)
        self.hosts[unit.name] = attempt
        return attempt

    def nvcc(self, unit: TranslationUnit, slim: bool) -> Attempt:
        """One .cu by nvcc's own commands, the device's and the host's at the same time."""
        folder = self.work / f"{Path(unit.name).stem}-{'slim' if slim else 'full'}"
        folder.mkdir()
        source = self.write_unit(unit, folder)
        out = folder / "unit.o"
        command = [
            self.tools.nvcc,
            "-keep",
            "-keep-dir",
            str(folder),
            *DEFINES,
            *HALF_DEFINES,
            f"-DTORCH_EXTENSION_NAME={self.call.name}",
            "--expt-relaxed-constexpr",
        ]
        command += [
            *self.device_flags(),
            *([f"-I{self.work / 'shim'}"] if slim else []),
            *self.submission_includes(unit),
            *self.tools.includes(True),
        ]
        command += [
            f"-gencode=arch=compute_{self.flags.arch[3:]},code={self.flags.arch}",
            "-Xcompiler",
            ",".join(["-fPIC", *self.flags.device_host]),
        ]
        command += ["-c", str(source), "-o", str(out)]
        result = side_by_side(command, folder)
        return (
            Attempt([out], "")
            if result == "" and out.exists()
            else Attempt(log=result or "nvcc failed", text=unit.text)
        )

    # --- one unit, one library

    def device_flags(self) -> list[str]:
        has_standard = any("std" in flag for flag in self.flags.device)
        return [*([] if has_standard else [STANDARD]), *self.flags.device]

    def submission_includes(self, unit: TranslationUnit) -> list[str]:
        paths = [self.work / "files" / path if path.startswith("part") else Path(path) for path in self.flags.includes]
        return [f"-I{path}" for path in [*([self.work / "files" / unit.folder] if unit.folder else []), *paths]]

    def write_unit(self, unit: TranslationUnit, folder: Path) -> Path:
        path = folder / unit.name.replace("/", "-")
        path.write_text(unit.text, errors="surrogateescape")
        return path

    def host(self, unit: TranslationUnit, slim: bool) -> Attempt:
        folder = self.work / "host"
        folder.mkdir(exist_ok=True)
        source = self.write_unit(TranslationUnit(f"{'slim' if slim else 'full'}-{unit.name}", unit.text, False), folder)
        asked = self.flags.host + (self.host_side_defines() if self.has_cuda else [])
        level = compiler_flags.value_of("-O", asked)
        with_cuda = self.call.with_cuda
        words = [flag for flag in asked if not flag.startswith("-O")]
        words.append(f"-O{level}" if level in OPTIMISED and self.variant.endswith("O2") else "-O1")
        if not compiler_flags.value_of("-std=", asked):
            words.append(STANDARD)
        header = self.precompiled(with_cuda) if slim and self.variant else []
        command = [*host_flags(self.tools, with_cuda), *([f"-I{self.work / 'shim'}"] if slim else []), *self.submission_includes(unit), *words,
                   f"-DTORCH_EXTENSION_NAME={self.call.name}", *header, "-x", "c++", "-c", str(source)]  # fmt: skip
        return self.compiled(command, source)

    def host_side_defines(self) -> list[str]:
        """Macros that a .cu is compiled with hold for its host half too; those about half precision were said already."""
        return [
            flag
            for flag in [*self.flags.device, *self.flags.device_host]
            if flag.startswith("-D") and "__CUDA_NO" not in flag and flag not in self.flags.host
        ]

    def precompiled(self, with_cuda: bool) -> list[str]:
        """The header of the cache, or the same text where there is none."""
        header = self.job.shared / self.variant / "header.h" if self.job.shared is not None else None
        if header is None or not header.exists():
            header = self.work / "slim.h"
            header.write_text(header_text(with_cuda))
        return ["-include", str(header)]

    def compiled(self, words: list[str], source: Path) -> Attempt:
        out = source.with_suffix(".o")
        result = run([self.tools.cxx, *words, "-o", str(out)], self.work)
        return (
            Attempt([out], "")
            if result.code == 0
            else Attempt(log=result.text or "g++ failed", text=source.read_text(errors="surrogateescape"))
        )

    def link(self, objects: list[Path]) -> Attempt:
        out = self.work / "module.so"
        command = [
            self.tools.cxx,
            "-shared",
            f"-fuse-ld={self.tools.linker}",
            "-Wl,-s",
            *map(str, objects),
            *self.flags.link,
            *self.tools.libraries(self.call.with_cuda),
        ]
        result = run([*command, "-o", str(out)], self.work)
        if result.code != 0:
            return Attempt(log=result.text or "the linker failed")
        (self.job.out / "module.so").write_bytes(out.read_bytes())
        return Attempt([out], "")

    def combined(self, jobs: list) -> Attempt:  # type: ignore[type-arg]
        attempts = [job.result() for job in jobs]
        bad = next((attempt for attempt in reversed(attempts) if not attempt.is_good), None)
        return bad or Attempt([path for attempt in attempts for path in attempt.objects], "")
