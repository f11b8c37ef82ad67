"""Compares how kq and torch build the calls of load_inline and load in a folder of submissions.

    scripts/bench inline FOLDER
        traces the calls of every .py file below FOLDER and builds each call as kq's compile child does
    scripts/bench inline FOLDER --torch --json FILE
        builds each call with torch's own load_inline or load too, and says where only one of the two compiles
    scripts/bench inline FOLDER --torch --kernels
        compiles the .cu files once more with torch's flags, and compares the machine code of each kernel with kq's
    scripts/bench inline FOLDER --prefixes DIR
        keeps the prefixes of torch's headers in DIR, so that the next run does not make them again

A file is traced with the problem beside it: NAME.problem.py, or problem.py. The programs of the folder run here without
a sandbox, to make their calls. The benchmark needs nvcc and a torch with CUDA (KQ_PYTHON, or the environment of
scripts/setup), but no GPU. Processor seconds are those of the compilers; the memory is that of all processes of a
build. Exit code 1: a call that only one of the two compiles, a build that kq's limits ended, or a kernel whose machine
code differs.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
HARNESS = next(
    (path for path in (ROOT / "gpu_worker", ROOT / "share/kq") if (path / "harness").exists()), ROOT / "gpu_worker"
)
PYTHON = os.environ.get("KQ_PYTHON") or next(
    (str(path) for path in [ROOT / ".venv/bin/python"] if path.exists()), sys.executable
)
PREFIXES = ("extension-O1", "types-O1", "bodies-O1", "nvcc-O1")
TRACE_LIMIT_S = 120
BUILD_LIMIT_S = 600
SAMPLE_S = 0.1
NO_BITS = 8  # the type of an ELF section that has no content
UNNAMED = re.compile(r"_GLOBAL__N__\w+?_cuda_cu_\w{8}_\d+")  # a name that nvcc makes from a file's path
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))

from process_tree import end_tree, tree_below  # noqa: E402

Answer = dict[str, Any]


def main() -> int:
    arguments = parse_arguments()
    if arguments.work_on:
        return work(arguments)
    folder = Path(tempfile.mkdtemp(prefix="kq-bench-inline-"))
    try:
        return Comparison(arguments, folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("submissions", nargs="?", metavar="FOLDER")
    parser.add_argument("--torch", action="store_true", help="build with torch too")
    parser.add_argument("--kernels", action="store_true", help="with --torch: compare the machine code of kernels")
    parser.add_argument("--json", metavar="FILE", help="write every answer")
    parser.add_argument("--only", default="", metavar="WORD", help="only files with this word in their path")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="builds that run at once (default 1)")
    parser.add_argument("--prefixes", metavar="DIR", help="where prefixes are kept")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--work-on", help=argparse.SUPPRESS)  # trace, prefix, kq or torch
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.submissions and not arguments.work_on:
        parser.error("a folder of submissions is needed")
    if arguments.kernels and not (arguments.torch or arguments.work_on):
        parser.error("--kernels compares with torch's builds; give --torch too")
    return arguments


class Comparison:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.shared = Path(arguments.prefixes).absolute() if arguments.prefixes else folder / "prefixes"
        self.calls: list[Answer] = []

    def run(self) -> int:
        self.make_prefixes()
        root = Path(self.arguments.submissions)
        files = [
            path
            for path in sorted(root.rglob("*.py"))
            if self.arguments.only in str(path) and "problem" not in path.name and "cpp_extension" in path.read_text()
        ]
        with ThreadPoolExecutor(max_workers=self.arguments.jobs) as pool:
            found = list(pool.map(lambda path: self.trace(path, root), files))
            list(pool.map(self.build, [call for calls in found for call in calls]))
        self.show(len(files))
        bad = [call for call in self.calls if call["kq"]["status"] in ("memory", "unsupported", "ended")]
        return 1 if bad or self.disagreements() or self.other_kernels() else 0

    def make_prefixes(self) -> None:
        for variant in PREFIXES:
            if (self.shared / variant / "status").exists():
                continue
            place = self.place(f"prefix-{variant}")
            (place / "src/call.json").write_text(json.dumps({"precompile": variant}))
            answer = self.ask("prefix", place)
            print(f"prefix {variant}: {answer}", flush=True)
            if answer.get("status") == "ok":
                shutil.copytree(place / "out", self.shared / variant, dirs_exist_ok=True)
            shutil.rmtree(place)

    def place(self, name: str) -> Path:
        place = self.folder / name
        for part in ("src", "work", "out"):
            (place / part).mkdir(parents=True, exist_ok=True)
        return place

    def trace(self, path: Path, root: Path) -> list[Answer]:
        """Returns the calls that a file makes."""
        name = str(path.relative_to(root)).removesuffix(".py").replace("/", "-")
        place = self.place(f"trace-{name}")
        shutil.copy(path, place / "src/submission.py")
        problems = [path.with_suffix(".problem.py"), path.parent / "problem.py"]
        if (problem := next((file for file in problems if file.exists()), None)) is not None:
            shutil.copy(problem, place / "src/problem.py")
        self.ask("trace", place, TRACE_LIMIT_S)
        record = place / "out/calls"
        calls = json.loads(record.read_text())["calls"] if record.exists() else []
        return [{"name": f"{name}.{i}" if len(calls) > 1 else name, "call": call} for i, call in enumerate(calls)]

    def build(self, call: Answer) -> None:
        for side in ("kq", "torch") if self.arguments.torch else ("kq",):
            place = self.place(f"{side}-{call['name']}")
            (place / "src/call.json").write_text(json.dumps(call["call"]))
            call[side] = self.ask(side, place)
            shutil.rmtree(place)
        self.calls.append(call)
        print(line_of(call), flush=True)
        self.write()

    def ask(self, work_on: str, place: Path, limit_s: float = BUILD_LIMIT_S) -> Answer:
        command = [PYTHON, __file__, "--work-on", work_on, "--folder", str(place), "--arch", self.arguments.arch]
        command += ["--kernels"] if self.arguments.kernels else []
        environment = {**os.environ, "KQ_BENCH_PREFIXES": str(self.shared), "MAX_JOBS": "1"}
        begun = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment,
        )
        peak = Peak(process.pid)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            peak.end()
            end_tree(process)
        answer_file = place / "answer"
        answer = json.loads(answer_file.read_text()) if answer_file.exists() else {"status": "ended"}
        return {"s": round(time.monotonic() - begun, 2), **answer, "mib": peak.mib}

    def disagreements(self) -> list[Answer]:
        return [call for call in self.calls if "torch" in call and is_good(call["kq"]) != is_good(call["torch"])]

    def other_kernels(self) -> list[str]:
        """Returns the kernels of calls that both compile whose machine code is not the same."""
        found = []
        for call in self.calls:
            mine, others = (call.get(side, {}).get("kernels", {}) for side in ("kq", "torch"))
            both_compile = is_good(call["kq"]) and is_good(call.get("torch", {"status": "none"}))
            found += [f"{call['name']} {name}" for name in others if both_compile and mine.get(name) != others[name]]
        return found

    def show(self, files: int) -> None:
        print(f"\n{len(self.calls)} calls of {files} files")
        for side in ("kq", "torch"):
            for what in (True, False):
                answers = [call[side] for call in self.calls if side in call and is_good(call[side]) == what]
                if answers:
                    print(f"{side:5} {'compiles' if what else 'refuses':8} {len(answers):4}  {medians(answers)}")
        for way in sorted({call["kq"].get("way", "") for call in self.calls if is_good(call["kq"])}):
            answers = [call["kq"] for call in self.calls if is_good(call["kq"]) and call["kq"].get("way", "") == way]
            print(f"way   {way or 'C++ only':8} {len(answers):4}  {medians(answers)}")
        for call in self.disagreements():
            print(f"ONLY {'kq' if is_good(call['kq']) else 'torch'} compiles {call['name']}")
        if self.arguments.kernels:
            kernels = sum(len(call.get("torch", {}).get("kernels", {})) for call in self.calls if is_good(call["kq"]))
            others = self.other_kernels()
            print(f"{kernels - len(others)} of {kernels} kernels have the same machine code")
            for name in others:
                print(f"OTHER CODE {name}")

    def write(self) -> None:
        if self.arguments.json:
            calls = [{key: value for key, value in call.items() if key != "call"} for call in self.calls]
            Path(self.arguments.json).write_text(json.dumps({"command": sys.argv, "calls": calls}, indent=1) + "\n")


class Peak:
    """Samples the memory of all processes below one, until it is ended."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.mib = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()

    def sample(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self.done.wait(SAMPLE_S):
            pages = 0
            for pid in tree_below(self.root)[1:]:
                with contextlib.suppress(OSError):
                    pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            self.mib = max(self.mib, pages * page >> 20)

    def end(self) -> None:
        self.done.set()
        self.thread.join()


def is_good(answer: Answer) -> bool:
    return answer["status"] == "ok"


def medians(answers: list[Answer]) -> str:
    words = []
    for key, unit in (("s", "s"), ("cpu_s", "s of processors"), ("mib", "MiB")):
        values = [answer[key] for answer in answers if key in answer]
        if values:
            words.append(f"median {statistics.median(values):.1f}, most {max(values):.1f} {unit}")
    return "; ".join(words)


def line_of(call: Answer) -> str:
    words = [f"{call['name']:40}"]
    for side in ("kq", "torch"):
        if (answer := call.get(side)) is not None:
            way = answer.get("way", "")
            words.append(f"{side} {answer['status']:8} {way:6} {answer.get('cpu_s', 0):6.1f} s {answer['mib']:5} MiB")
    first = call["kq"].get("message", "").partition("\n")[0]
    return "  ".join([*words, first[:120]])


# --- one step, which runs in its own process


def work(arguments: argparse.Namespace) -> int:
    import resource

    place = Path(arguments.folder)
    if arguments.work_on == "torch":
        os.environ["TORCH_CUDA_ARCH_LIST"] = f"{arguments.arch[3:-1]}.{arguments.arch[-1]}"
    sys.path.insert(0, str(HARNESS))
    steps = {"trace": trace_calls, "prefix": build_by_kq, "kq": build_by_kq, "torch": build_by_torch}
    import torch.utils.cpp_extension  # noqa: F401  no part of the seconds

    begun = time.monotonic()
    answer = {"s": 0.0, **steps[arguments.work_on](place, arguments.arch)}
    compilers = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer["s"] = answer["s"] or round(time.monotonic() - begun, 2)
    answer["cpu_s"] = round(compilers.ru_utime + compilers.ru_stime, 2)
    if arguments.kernels and arguments.work_on in ("kq", "torch"):
        if arguments.work_on == "torch":
            compile_kernels(place / "work")
        answer["kernels"] = machine_code(place / "work")
    (place / "answer").write_text(json.dumps(answer))
    return 0


def job_of(place: Path, role: str, arch: str) -> Any:
    import torch
    from harness.children.job import Job

    return Job(
        role=role,
        device=torch.device("cpu"),
        backend="torch_cuda",
        source=place / "src",
        given=place / "src",
        work=place / "work",
        out=place / "out",
        entry="submission.py",
        problem="problem.py",
        precision=None,
        arch=arch,
        shared=Path(os.environ["KQ_BENCH_PREFIXES"]),
    )


def trace_calls(place: Path, arch: str) -> Answer:
    from harness.extensions import tracing_child

    os.chdir(place / "work")
    tracing_child.run(job_of(place, "record", arch))
    return {"status": "ok"}


def build_by_kq(place: Path, arch: str) -> Answer:
    from harness.extensions import compile_child

    compile_child.main(job_of(place, "compile", arch))
    text = {name: (place / "out" / name).read_text() for name in ("status", "message")}
    answer = {"status": text["status"].strip(), "message": text["message"]}
    toolchain = place / "out/toolchain"
    if toolchain.exists():
        answer["way"] = next((way for way in ("split", "lean", "full") if f"({way}" in toolchain.read_text()), "")
    module = place / "out/module.so"
    if module.exists():
        import_module(module, json.loads((place / "src/call.json").read_text()), answer)
    return answer


def import_module(module: Path, call: Answer, answer: Answer) -> None:
    from importlib import machinery, util

    import torch  # noqa: F401  the module finds torch's libraries in this process

    try:
        loader = machinery.ExtensionFileLoader(call["name"], str(module))
        spec = util.spec_from_loader(call["name"], loader)
        if call["is_python_module"] and spec is not None:
            loader.exec_module(util.module_from_spec(spec))
    except ImportError as error:
        answer.update(status="failed", message=f"ImportError: {error}")


def build_by_torch(place: Path, arch: str) -> Answer:
    from torch.utils import cpp_extension

    call = json.loads((place / "src/call.json").read_text())
    common = {
        "name": call["name"],
        "extra_cflags": call["cflags"],
        "extra_cuda_cflags": call["cuda_cflags"],
        "extra_ldflags": call["ldflags"],
        "build_directory": str(place / "work"),
        "extra_include_paths": [
            str(place / "files" / path) if path.startswith("part") else path for path in call["include_paths"]
        ],
        "with_cuda": call["with_cuda"],
        "is_python_module": call["is_python_module"],
    }
    for name, text in call["files"]:
        (place / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "files" / name).write_text(text, errors="surrogateescape")
    try:
        if call["inline"]:
            functions = None if call["functions"] is None else {name: text for name, text in call["functions"]}
            cpp_extension.load_inline(
                cpp_sources=call["cpp"],
                cuda_sources=call["cuda"],
                functions=functions,
                with_pytorch_error_handling=call["error_handling"],
                no_implicit_headers=not call["implicit_headers"],
                **common,
            )
        else:
            cpp_extension.load(sources=[str(place / "files" / name) for name in call["sources"]], **common)
    except (RuntimeError, ImportError, OSError) as error:
        return {"status": "failed", "message": f"{type(error).__name__}: {error}"[:4000]}
    return {"status": "ok"}


def compile_kernels(folder: Path) -> None:
    """Compiles the .cu files of a build of torch's once more, with the same flags, to a cubin each."""
    ninja = folder / "build.ninja"
    text = ninja.read_text() if ninja.exists() else ""
    flags = {name: value for name, value in re.findall(r"^(nvcc|cuda_\w+) = (.*)$", text, re.MULTILINE)}
    for source in re.findall(r": cuda_compile (\S+\.cu)$", text, re.MULTILINE):
        words = [flags["cuda_cflags"], flags.get("cuda_post_cflags", ""), flags.get("cuda_dlink_post_cflags", "")]
        command = [flags["nvcc"], *(word for part in words for word in shlex.split(part))]
        out = folder / f"{Path(source).stem}.cubin"
        subprocess.run([*command, "-cubin", "-o", out, source], check=False, capture_output=True)


def machine_code(folder: Path) -> dict[str, str]:
    """Returns a hash of the machine code of each kernel in the cubins below the folder."""
    found = {}
    for cubin in sorted(folder.rglob("*.cubin")):
        content = cubin.read_bytes()
        for name, code in sections(content):
            if name.startswith(".text."):
                found[UNNAMED.sub("", name.removeprefix(".text."))] = hashlib.sha256(code).hexdigest()[:16]
    return found


def sections(elf: bytes) -> list[tuple[str, bytes]]:
    """Returns the names and contents of the sections of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count, names_at = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    names = headers[names_at][4]
    return [
        (elf[names + name : elf.index(b"\0", names + name)].decode(), elf[offset : offset + length])
        for name, kind, _, _, offset, length, *_ in headers
        if kind != NO_BITS
    ]


if __name__ == "__main__":
    sys.exit(main())
