"""Builds one extension: the module that a call of load_inline or load asks for. The compile child runs it; it runs
compilers and no code of the job.

C++ units, such as the one that load_inline makes of cpp_sources and the module, are compiled first. If one of them does
not compile, the build ends without having started nvcc. No text is compiled that torch would not compile: the sources
of the two languages are never joined.

There are three ways to build CUDA units. If one fails, the next one is tried, unless the error is plainly the
source's own (compiler_error.py). The last way compiles what torch would compile, so its errors are final.

    split   each .cu as two sources (cuda_split.py): g++ compiles the host half with a precompiled prefix of torch's
            headers (torch_prefix.py), and nvcc the device half without these headers
    lean    nvcc's own steps, without bodies in torch's headers that the source does not need (nvcc_headers.py). An
            error in a line of the source is final
    full    nvcc's own steps, with the headers as they are

C++ units and host halves are compiled with the headers as they are where no prefix fits, or until one has been made. A
prefix without the archive of its bodies tells the errors of the C++ units; what it compiles is compiled again.
"""

import os
import posixpath
import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from harness.children.job import Job
from harness.extensions import compiler_error, compiler_flags, load_check
from harness.extensions.compiler_error import FIRST_ERROR, Cause, error_excerpt, too_large_excerpt
from harness.extensions.compiler_flags import Flags
from harness.extensions.cuda import cuda_split
from harness.extensions.cuda.cuda_tokens import Refused
from harness.extensions.cuda.host_prelude import PRELUDE
from harness.extensions.cuda.nvcc_headers import has_notes, take_bodies_out
from harness.extensions.cuda.registration import registration
from harness.extensions.loader_call import Call, source_label
from harness.extensions.memory_room import (
    DEVICE_HALF_MIB,
    FULL_MIB,
    HOST_MIB,
    PREFIX_HOST_MIB,
    STRIPPED_MIB,
    MemoryRoom,
    memory_of_build_mib,
)
from harness.extensions.nvcc_steps import run_steps
from harness.extensions.sources import BadSource, TranslationUnit, file_units, inline_cpp, inline_units
from harness.extensions.toolchain import DEFINES, HALF_DEFINES, STANDARD, Stop, find_toolchain, run
from harness.extensions.torch_prefix import (
    ARCHIVE,
    HEADERS,
    HOST_FLAGS,
    NOTES,
    LeadingHeaders,
    Prefix,
    find_prefix,
    find_prefixes,
    macros_of,
    name_of_macro,
)
from harness.kernels.cubin import plain_name

CPP_ENDINGS = (".cpp", ".cc", ".cxx", ".c")
OPTIMISED = ("2", "3", "fast")
# The linker's warning about a name of torch's headers, with linkers that print names of C++.
MISSING_BODY = re.compile(
    r"undefined (?:symbol:?|reference to) [`']?((?:[a-z ]+ for )?(?:at|c10|torch|pybind11|caffe2)::[^\n]*)"
)
REASON_CHARACTERS_MAX = 120  # of the reason why a way to build did not work
OWN_MACROS = {"TORCH_EXTENSION_NAME"}  # the headers use it in macros only


class BuildFailed(Exception):
    """The source is at fault; the text is the compiler's. `is_final` says that compiling it again fails likewise."""

    def __init__(self, text: str, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


class DiskFull(Exception):
    """Compilers wrote more than a build may write; the text is a sentence and their output."""


class NotLoadable(Exception):
    """The source compiles to a library that does not load; the text is what loading it fails with."""


class Unsupported(Exception):
    """This machine cannot build the extension; the text is one sentence."""


@dataclass
class Attempt:
    objects: list[Path] = field(default_factory=list)
    log: str = ""
    is_tried: bool = True  # compilers saw the source
    text: str = ""  # the source that a compiler rejected
    load_error: str = ""  # what the linked library will fail to load with

    @property
    def is_good(self) -> bool:
        return not self.log and not self.load_error


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
        self.host_pool = ThreadPoolExecutor(max_workers=8)  # runs what tasks of the first pool wait for
        variant_file = job.source / "variant"
        variant = variant_file.read_text().strip() if variant_file.exists() else "O1"
        self.level = variant.partition("-")[0]
        self.prefixes = find_prefixes(job, variant)
        self.used: dict[str, Prefix] = {}  # by folder: the prefixes that units were compiled with
        self.prefix_lock = Lock()  # held by the unit that makes the empty headers
        self.missing_bodies = ""  # a function of torch's headers that no archive has, as the linker names it
        self.room = MemoryRoom(memory_of_build_mib())
        self.units = inline_units(call) if call.inline else file_units(call)
        self.cpp_units = [unit for unit in self.units if not unit.is_cuda]
        self.cuda_units = [unit for unit in self.units if unit.is_cuda]
        self.has_cuda = bool(self.cuda_units)

    def build(self) -> None:
        if not self.tools.cxx:
            raise Unsupported("no g++ here: a worker with a C++ compiler builds it")
        if self.call.with_cuda and not (self.tools.nvcc and (self.tools.torch_root / "lib/libc10_cuda.so").exists()):
            raise Unsupported("no nvcc, or no torch with CUDA, here: a worker with CUDA builds it")
        self.write_files()
        way, attempt = self.compile_and_link()
        if self.missing_bodies:
            self.prefixes, self.used = [], {}
            way, attempt = self.compile_and_link()
        self.report(way, attempt)

    def compile_and_link(self) -> tuple[str, Attempt]:
        """Returns the way that compiled the CUDA units, if there are any, with the reasons why no way before it worked,
        and the end of the build.
        """
        self.missing_bodies = ""
        way, attempt = "", self.cpp_objects()
        self.prefixes = [prefix for prefix in self.prefixes if prefix.archive is not None]
        if attempt.is_good and any(prefix.archive is None for prefix in self.used.values()):
            self.used = {}
            attempt = self.cpp_objects()
        (self.job.out / "log-cpp").write_text(attempt.log, errors="replace")
        if attempt.is_good and self.has_cuda:
            way, attempt = self.link_in_first_way(attempt.objects)
        elif attempt.is_good:
            attempt = self.link(attempt.objects)
        return way, attempt

    def cpp_objects(self) -> Attempt:
        return self.combined([self.pool.submit(self.cpp, unit) for unit in self.cpp_units])

    def link_in_first_way(self, objects: list[Path]) -> tuple[str, Attempt]:
        """Compiles the CUDA units in the first way that works and links them with the objects of the C++ units. Returns
        the way, with the reasons why no way before it worked, and the end.
        """
        way, attempt = "", Attempt(log="no way to build was tried")
        reasons: list[str] = []
        for way, build in (("split", self.split), ("lean", self.lean), ("full", self.full)):
            attempt = build()
            (self.job.out / f"log-{way}").write_text(attempt.log, errors="replace")
            if attempt.is_good:
                attempt = self.link([*objects, *attempt.objects])
            if attempt.is_good or self.missing_bodies or (way != "full" and self.is_source_error(attempt)):
                break
            found = FIRST_ERROR.search(attempt.log) if way == "lean" else None
            if found is not None and found["file"] in self.labels():
                break
            if way != "full":
                reasons.append(f"not {way}: {reason_of(attempt)}")
        return "; ".join([way, *reasons]), attempt

    def report(self, way: str, attempt: Attempt) -> None:
        """Writes down what compiled the module, and raises what the last attempt failed with."""
        words = [self.flag_words(), *([f"({way})"] if way else [])]
        (self.job.out / "toolchain").write_text(
            f"{self.tools.description(self.has_cuda)}\n{' '.join(words).strip()}\n", errors="replace"
        )
        if attempt.load_error:
            raise NotLoadable(attempt.load_error)
        if not attempt.is_good:
            cause = compiler_error.cause_of(attempt.log)
            if cause is Cause.MEMORY:
                raise MemoryError
            if cause is Cause.DISK:
                raise DiskFull(too_large_excerpt(self.call, attempt.log))
            raise BuildFailed(error_excerpt(self.call, attempt.log), is_final=cause is Cause.SOURCE)

    def is_source_error(self, attempt: Attempt) -> bool:
        """Returns whether no part of the source that was left out can be the reason of the error."""
        if attempt.load_error:
            texts = [*self.call.cuda, *(text for name, text in self.call.files if not name.endswith(CPP_ENDINGS))]
            return load_check.is_in_no_source(attempt.load_error, texts, self.call.cuda_cflags)
        prefix = next(iter(self.prefixes), None)
        found = FIRST_ERROR.search(attempt.log)
        if prefix is None or found is None or found["file"] not in self.labels():
            return False
        source = [*self.call.cpp, *self.call.cuda, *(text for _, text in self.call.files), *inline_cpp(self.call)[1:]]
        flags = [*self.call.cflags, *self.call.cuda_cflags]
        return compiler_error.is_source_error(
            found["words"], source, attempt.text, prefix.names(), prefix.files(), flags
        )

    def labels(self) -> set[str]:
        """Returns the names that compilers give to the parts of the source."""
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

    # --- the ways to build CUDA units

    def split(self) -> Attempt:
        """Compiles the host half of each .cu by g++ with a precompiled header, and the device half by nvcc. Where the
        host half does not compile, the compiler of the device half is ended.
        """
        if any(name not in self.call.sources for name, _ in self.call.files):
            return Attempt(log="the source includes files of its own", is_tried=False)
        try:
            halves = [cuda_split.split(unit.text) for unit in self.cuda_units]
        except Refused as error:
            return Attempt(log=str(error), is_tried=False)
        return self.combined([self.pool.submit(self.split_unit, *pair) for pair in zip(self.cuda_units, halves)])

    def split_unit(self, unit: TranslationUnit, half: cuda_split.Split) -> Attempt:
        limits = f"{cuda_split.LIMITS}\n" if cuda_split.LIMITS in half.device else ""
        host_text = PRELUDE + limits + half.host
        half_unit = TranslationUnit(f"{unit.name}.cpp", host_text, is_cuda=False, folder=unit.folder)
        host = self.host_pool.submit(self.host, half_unit, self.prefix_of(unit, self.half_flags()), self.half_flags())
        plain = [kernel for kernel in half.kernels if not kernel.is_template]
        if len(plain) == len(half.kernels):
            stop = Stop()

            def stop_after_error(done: Future[Attempt]) -> None:
                if done.exception() is not None or not done.result().is_good:
                    stop.set()

            host.add_done_callback(stop_after_error)
            cubin = self.cubin(unit, half.device, stop)
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
        if not half.kernels:
            return host_done  # the source calls libraries; its device half was compiled for its errors
        registered = self.register(cubin, host_done.objects[0], half)
        return Attempt(host_done.objects + registered.objects, registered.log)

    def symbols(self, object_file: Path, kernels: list[cuda_split.Kernel]) -> list[tuple[str, str]]:
        """Returns (symbol, name in C++) of the launching function of every kernel in an object file."""
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
        """Returns explicit instantiations of the templates that the host half launches."""
        templates = {kernel.name for kernel in kernels if kernel.is_template}
        lines = []
        for _, text in self.symbols(object_file, kernels):
            words = re.match(r"void (?:\w+::)*(\w+)<", text)
            if words is not None and words.group(1) in templates:
                lines.append(f"template __global__ {text};\n")
        joined = "".join(lines)
        headers = [f"#include <c10/util/{name}.h>\n" for name in ("Half", "BFloat16") if f"c10::{name}" in joined]
        return ("\n" + "".join(headers) + joined) if "(anonymous" not in joined else "\n#error anonymous\n"

    def cubin(self, unit: TranslationUnit, text: str, stop: Stop | None = None) -> Path | Attempt:
        source = self.work / f"{Path(unit.name).stem}.device.cu"
        # The headers of c10 that instances need must precede everything else.
        lines = text.splitlines(keepends=True)
        first = [line for line in lines if line.startswith("#include <c10/util/")]
        source.write_text("".join(first) + text, errors="surrogateescape")
        out = source.with_suffix(".cubin")
        includes = [*(self.tools.includes(False)[:4] if first else []), *self.submission_includes(unit)]
        flags = [*HALF_DEFINES, "--expt-relaxed-constexpr", *self.device_flags(), f"-arch={self.flags.arch}"]
        flags += ["-include", "cstdint"] if cuda_split.LIMITS in text else []  # which torch's headers include
        with self.room.take(DEVICE_HALF_MIB):
            command = [self.tools.nvcc, *flags, *includes, "-cubin", "-o", str(out), str(source)]
            result = run(command, self.work, stop=stop)
        return out if result.code == 0 else Attempt(log=result.text or "nvcc failed", text=text)

    def host_variables(self, object_file: Path, variables: list[cuda_split.Variable]) -> dict[str, tuple[int, bool]]:
        """Returns the host's variables that stand for device variables: symbol -> (bytes, whether the variable is
        constant).
        """
        raw = [
            line.split() for line in run(["nm", "-S", "--defined-only", str(object_file)], self.work).text.splitlines()
        ]
        found = {words[3]: int(words[1], 16) for words in raw if len(words) == 4 and words[2] in "BbDdGgSs"}
        constants = {variable.name: variable.is_constant for variable in variables}
        return {
            name: (size, constants[plain]) for name, size in found.items() if (plain := plain_name(name)) in constants
        }

    def register(self, cubin: Path, object_file: Path, half: cuda_split.Split) -> Attempt:
        """Compiles the object that hands the device code, its kernels and its variables to CUDA's runtime, as nvcc's
        own objects do.
        """
        names = [name for name, _ in self.symbols(object_file, half.kernels)]
        variables = self.host_variables(object_file, half.variables)
        code = cubin.read_bytes()
        missing = [name for name in names if name.encode() + b"\0" not in code] + [
            name for name in variables if b"\0" + name.encode() + b"\0" not in code
        ]
        if missing or not names or len(variables) != len(half.variables):
            return Attempt(log=f"the device half lacks kernels or variables of the host half: {', '.join(missing)}")
        fatbin = cubin.with_suffix(".fatbin")
        number = self.flags.arch.removeprefix("sm_")
        fatbinary = str(Path(self.tools.nvcc).parent / "fatbinary")
        result = run([fatbinary, "-64", f"--create={fatbin}", f"--image3=kind=elf,sm={number},file={cubin}"], self.work)
        if result.code != 0:
            return Attempt(log=result.text or "fatbinary failed")
        source = cubin.with_suffix(".register.c")
        source.write_text(registration(fatbin, names, variables))
        return self.compiled(["-x", "c", "-O1", "-fPIC", "-w", "-c", str(source)], source)

    def lean(self) -> Attempt:
        notes = self.job.shared / f"{NOTES}-O1" if self.job.shared is not None else None
        is_usual = all("c++17" in flag for flag in self.flags.device if "std" in flag)
        bodies = find_prefix(self.job, "extension", "O1")
        if notes is None or bodies is None or bodies.archive is None or not is_usual or not has_notes(notes):
            return Attempt(log="no notes about torch's headers", is_tried=False)
        self.used[str(bodies.folder)] = bodies
        return self.combined([self.pool.submit(self.nvcc, unit, notes) for unit in self.cuda_units])

    def full(self) -> Attempt:
        return self.combined([self.pool.submit(self.nvcc, unit) for unit in self.cuda_units])

    def nvcc(self, unit: TranslationUnit, notes: Path | None = None) -> Attempt:
        """Compiles one .cu with nvcc's own commands, with torch's headers as they are or by the notes about them."""
        folder = self.work / f"{Path(unit.name).stem}-{'full' if notes is None else 'lean'}"
        folder.mkdir(exist_ok=True)
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
            *self.submission_includes(unit),
            *self.tools.includes(True),
        ]
        command += [
            f"-gencode=arch=compute_{self.flags.arch[3:]},code={self.flags.arch}",
            "-Xcompiler",
            ",".join(["-fPIC", *self.flags.device_host]),
        ]
        command += ["-c", str(source), "-o", str(out)]
        if notes is None:
            result = run_steps(command, folder, self.room, FULL_MIB)
        else:
            result = run_steps(command, folder, self.room, STRIPPED_MIB, lambda path: take_bodies_out(path, notes))
        has_succeeded = result == "" and out.exists()
        for path in folder.iterdir():
            if path != out and path.is_file():
                path.unlink()  # the files between the steps would take the room of other units
        return Attempt([out], "") if has_succeeded else Attempt(log=result or "nvcc failed", text=unit.text)

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

    def cpp(self, unit: TranslationUnit) -> Attempt:
        """Compiles a C++ unit as torch does. Where the error is not in the source itself, the headers as they are
        decide.
        """
        flags = [STANDARD, *self.flags.host]
        prefix = self.prefix_of(unit, flags)
        attempt = self.host(unit, prefix, flags)
        found = FIRST_ERROR.search(attempt.log)
        if attempt.is_good or prefix is None or (found is not None and found["file"] in self.labels()):
            return attempt
        return self.host(unit, None, flags)

    def half_flags(self) -> list[str]:
        """Returns the flags of nvcc that apply to the host half of a .cu."""
        passed = [flag for flag in self.flags.device if re.match(r"-D|--?std=", flag)]
        return [*HALF_DEFINES, STANDARD, *(flag.replace("--", "-") for flag in passed), *self.flags.device_host]

    def prefix_of(self, unit: TranslationUnit, flags: list[str]) -> Prefix | None:
        """Returns the prefix of torch's headers that compiling the unit with these flags may begin with."""
        paths = [str(Path(path)) for path in [unit.folder, *self.flags.includes] if path]
        leading = LeadingHeaders(unit.text, unit.folder, paths, dict(self.call.files))
        fitting = [prefix for prefix in self.prefixes if HEADERS[prefix.name] in leading.names]
        if not fitting or compiler_flags.value_of("-std=", flags) not in ("c++17", "gnu++17"):
            return None
        own = {posixpath.relpath(name, path) for name, _ in self.call.files for path in paths}
        words = [*HOST_FLAGS, *shaping(flags), self.optimisation(flags)]
        macros = macros_of(self.tools, words, self.work)
        same_header = [prefix for prefix in fitting if prefix.name == fitting[0].name]
        prefix = min(same_header, key=lambda each: len(each.changed_macros(macros)))
        if own & set(prefix.files()) or leading.defined() & {name_of_macro(line) for line in macros}:
            return None
        if prefix.is_unchanged_by(macros | {f"#define {name}" for name in leading.defined()}, OWN_MACROS):
            return prefix
        words += self.tools.includes(False)
        return prefix if prefix.is_same_text(self.tools, words, leading.defines, self.work) else None

    def optimisation(self, flags: list[str]) -> str:
        """Returns the level that a prefix was precompiled with. Optimising more seldom pays in code for the host."""
        level = compiler_flags.value_of("-O", flags)
        return "-O2" if level in OPTIMISED and self.level == "O2" else "-O1"

    def host(self, unit: TranslationUnit, prefix: Prefix | None, flags: list[str]) -> Attempt:
        folder = self.work / ("host" if prefix is None else f"host-{prefix.folder.name}")
        folder.mkdir(exist_ok=True)
        source = self.write_unit(unit, folder)
        with self.prefix_lock:
            before = prefix.flags(self.work) if prefix is not None else []
        command = [
            *before,
            *self.submission_includes(unit),
            *HOST_FLAGS,
            *self.tools.includes(self.call.with_cuda),
            *shaping(flags),
            self.optimisation(flags),
            f"-DTORCH_EXTENSION_NAME={self.call.name}",
            "-x",
            "c++",
            "-c",
            str(source),
        ]
        with self.room.take(HOST_MIB if prefix is None else PREFIX_HOST_MIB):
            attempt = self.compiled(command, source)
        if prefix is not None:
            self.used[str(prefix.folder)] = prefix
        return attempt

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
            *self.bodies(),
            *self.flags.link,
            *self.tools.libraries(self.call.with_cuda),
        ]
        result = run([*command, "-o", str(out)], self.work)
        if result.code != 0:
            return Attempt(log=result.text or "the linker failed")
        if missing := self.missing_body(result.text):
            self.missing_bodies = missing
            return Attempt(log=f"the prefix lacks the body of {missing}")
        if error := load_check.load_error(self.tools, self.call, out, command):
            return Attempt(load_error=error)
        (self.job.out / "module.so").write_bytes(out.read_bytes())
        return Attempt([out], "")

    def bodies(self) -> list[str]:
        """Returns the flags that link the bodies that the used prefixes lack, hidden, so that no other library finds
        them.
        """
        # A name that nothing defines is torch's to report, when the library is loaded.
        flags = ["-Wl,--gc-sections", f"-Wl,--exclude-libs,{ARCHIVE}", "-Wl,-z,defs", "-Wl,--warn-unresolved-symbols"]
        # The bodies for flags of C++ units come first, because these units may share classes with Python.
        prefixes = sorted(self.used.values(), key=lambda prefix: -prefix.folder.name.count("-"))
        archives = dict.fromkeys(str(prefix.archive) for prefix in prefixes)
        return [*flags, *archives] if archives else []

    def missing_body(self, log: str) -> str:
        """Returns a function that the linker misses and whose body may have been left out of a used prefix, or an empty
        text. The headers of a prefix name every such function. All other names are for load_check.py.
        """
        for found in MISSING_BODY.findall(log):
            words = re.findall(r"\w+", re.split(r"[(<\[]", found)[0])
            if any(prefix.has_word(words[-1]) for prefix in self.used.values()):
                return str(found)
        return ""

    def combined(self, jobs: list) -> Attempt:  # type: ignore[type-arg]
        attempts = [job.result() for job in jobs]
        bad = next((attempt for attempt in reversed(attempts) if not attempt.is_good), None)
        return bad or Attempt([path for attempt in attempts for path in attempt.objects], "")


def reason_of(attempt: Attempt) -> str:
    """Returns in a few words why a way to build did not work."""
    found = FIRST_ERROR.search(attempt.log)
    lines = (attempt.load_error or attempt.log).strip().splitlines() or ["it failed"]
    return (found["words"] if found is not None else lines[0]).strip()[:REASON_CHARACTERS_MAX]


def shaping(flags: list[str]) -> list[str]:
    """Returns the flags without levels, and without -g: the linker drops what that adds, and no prefix has it."""
    return [flag for flag in flags if not re.match(r"-O|-g[0-3]?$", flag)]
