"""Compares the build time of inline CUDA sources between kq and torch's own load_inline.

    scripts/bench build --json FILE
        builds a few sources one at a time, without and with a cache, and then many sources at once
    scripts/bench build --many 16 --skip-torch
        measures only kq's builds
    scripts/bench build --compare 200
        builds every source of tests/builds both ways (hours on two cores), and runs the results where a GPU is present
    scripts/bench build --compare 200 --part 1/2 --limit-s 540 --json a.json
        takes the first half of the sources, and at most 540 s
    scripts/bench build --compare 200 --resume a.json --json b.json
        takes only the sources that a.json lacks or reports as failed
    scripts/bench build --merge a.json b.json
        prints the combined result of several parts

The benchmark needs nvcc and a torch with CUDA (KQ_PYTHON, or the environment of scripts/setup), but no GPU. Every build
is one process with its own directory. A build of kq's is the build of a compile child without its sandbox. The
prefixes of torch's headers are made once before all sources and have their own rows. The benchmark runs in a checkout,
built or not, and in the tree that scripts/bundle makes.

When several builds run at once, torch's ninja gets one compiler at a time (MAX_JOBS=1), so that as many compilers run
as there are processors. A build of kq's runs its two or three compilers side by side nevertheless. The fair comparison
is then the processor time, which is reported for every build. Exit code 1: a source was not built, or its result
differs from torch's. Exit code 3: the time limit passed before every source was compared.
"""

import argparse
import ctypes
import inspect
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[3]
HARNESS = next(
    (path for path in (ROOT / "gpu_worker", ROOT / "share/kq") if (path / "harness").exists()), ROOT / "gpu_worker"
)
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/builds"), str(ROOT / "tests/bench")]

import comparison  # noqa: E402
from process_tree import end_tree  # noqa: E402

if TYPE_CHECKING:
    from harness.kernels.nvrtc import Nvrtc

PYTHON = os.environ.get("KQ_PYTHON") or next(
    (str(path) for path in [ROOT / ".venv/bin/python"] if path.exists()), sys.executable
)
HEADERS = ("extension-O1", "types-O1", "bodies-O1", "extension-O2")  # variants of the prefixes of torch's headers
NVRTC_CHILDREN = 21
SINGLE = ("elementwise_0", "dispatched_2", "vectorised_3", "constant_0", "cpp_only_0")
RAW = (
    "__global__ void add(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; "
    "if (i < n) y[i] = x[i] + 1.0f; }\n"
)


def main() -> int:
    arguments = parse_arguments()
    if arguments.work_on:
        return work(arguments)
    if arguments.merge:
        return merge(arguments)
    folder = Path(tempfile.mkdtemp(prefix="kq-bench build-"))
    try:
        bench = Bench(arguments, folder)
        bench.compare() if arguments.compare else bench.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if bench.failures else 3 if comparison.cut_builds_of(bench.sources) else 0


def merge(arguments: argparse.Namespace) -> int:
    parts = [json.loads(Path(file).read_text())["sources"] for file in arguments.merge]
    sources = {name: answers for part in parts for name, answers in part.items()}
    failures = comparison.failures_of(sources)
    print(
        "\n".join(
            [f"{len(sources)} sources", *comparison.lines_of(sources), *(f"FAILED {failure}" for failure in failures)]
        )
    )
    return 1 if failures else 3 if comparison.cut_builds_of(sources) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench build", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write every figure")
    parser.add_argument(
        "--single", default=",".join(SINGLE), metavar="NAMES", help="sources of tests/builds built one at a time"
    )
    parser.add_argument(
        "--many", type=int, default=16, metavar="N", help="number of sources built at once; 0: none (default 16)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=comparison.jobs_here(len(os.sched_getaffinity(0))),
        metavar="N",
        help="builds that run at once (default: processors, and memory of 4 GiB each)",
    )
    parser.add_argument(
        "--compare",
        type=int,
        default=0,
        metavar="N",
        help="only build the first N sources both ways and compare the results",
    )
    parser.add_argument(
        "--part", default="1/1", metavar="I/N", help="with --compare: take only the I-th of N parts of the sources"
    )
    parser.add_argument(
        "--limit-s",
        type=float,
        metavar="S",
        help="stop comparing after S seconds and report the sources compared so far",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="result of an earlier --json; sources that were built and right in it are not built again",
    )
    parser.add_argument(
        "--merge", nargs="+", metavar="FILE", help="only print the combined result of --json files of several parts"
    )
    parser.add_argument("--skip-torch", action="store_true", help="measure only kq's builds")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument(
        "--work-on", help=argparse.SUPPRESS
    )  # "kq NAME", "torch NAME", "header VARIANT", "nvrtc", "load NAME"
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.figures: dict[str, float] = {}
        self.failures: list[str] = []
        self.sources: dict[str, dict[str, comparison.Answer]] = {}
        self.begun = time.monotonic()
        (folder / "shared").mkdir()

    def headers(self) -> None:
        with ThreadPoolExecutor(max_workers=2) as pool:
            for variant, answer in zip(HEADERS, pool.map(lambda variant: self.ask(f"header {variant}"), HEADERS)):
                self.figure(f"prefix {variant}", answer)

    def run(self) -> None:
        self.headers()
        for name in filter(None, self.arguments.single.split(",")):
            for side in self.sides():
                self.figure(f"{name}, {side}, cold", self.ask(f"{side} {name}"))
                if side == "torch":
                    self.figure(f"{name}, torch, from its cache", self.ask(f"torch {name}"))
            self.figure(f"{name}, kq, from the cache until loaded", self.ask(f"load {name}"))
        self.figure("raw CUDA by NVRTC", self.ask("nvrtc", environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}))
        self.figure(
            "NVRTC alone, of many kernels one after the other",
            self.ask("nvrtc_alone", environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        )
        self.figure("raw CUDA by nvcc -cubin", self.ask("nvcc"))
        if self.arguments.many:
            names = many_names(self.arguments.many)
            for side in self.sides():
                begun = time.monotonic()
                with ThreadPoolExecutor(max_workers=self.arguments.jobs) as pool:
                    list(pool.map(lambda name, side=side: self.ask(f"{side} {name}"), names))
                self.figure(
                    f"{len(names)} sources, {side}, {self.arguments.jobs} at once", {"s": time.monotonic() - begun}
                )
        self.show()

    def compare(self) -> None:
        self.headers()
        names = comparison.part_of(many_names(self.arguments.compare), self.arguments.part)
        known = json.loads(Path(self.arguments.resume).read_text())["sources"] if self.arguments.resume else {}
        alone = self.arguments.jobs == 1
        ended = 0

        def ask(side: str, name: str) -> comparison.Answer:
            if comparison.is_built_and_correct(before := known.get(name, {}).get(side, {})):
                return before
            answer = self.ask(
                f"{side} {name}", needed=False, environment=None if alone or side == "kq" else {"MAX_JOBS": "1"}
            )
            shutil.rmtree(self.folder / f"{side}-{name}", ignore_errors=True)
            return answer

        def record(side: str, name: str, answer: comparison.Answer) -> None:
            nonlocal ended
            ended += 1
            self.sources.setdefault(name, {})[side] = answer
            outcome = (
                f"{answer['s']:6.1f} s {answer['cpu_s']:6.1f} s of processors"
                if "s" in answer
                else answer.get("error") or "time was up"
            )
            details = [answer.get("way", ""), answer.get("ran_on", ""), answer.get("wrong", "")]
            print(
                f"{time.monotonic() - self.begun:6.1f} {ended:4}/{len(names) * len(self.sides())} {side:5} {name:18} "
                f"{outcome} {' '.join(filter(None, details))}",
                flush=True,
            )
            self.write()

        comparison.build_all(names, self.sides(), self.arguments.jobs, ask, record)
        self.sources = {name: self.sources[name] for name in names}
        self.failures += comparison.failures_of(self.sources)
        self.figures["all"] = time.monotonic() - self.begun
        print(
            "\n".join(
                [
                    f"{self.arguments.jobs} builds at once, {self.figures['all']:.0f} s in all",
                    *comparison.lines_of(self.sources),
                ]
            ),
            flush=True,
        )
        self.show()

    def sides(self) -> tuple[str, ...]:
        return ("kq",) if self.arguments.skip_torch else ("kq", "torch")

    def ask(self, work: str, needed: bool = True, environment: dict[str, str] | None = None) -> dict:
        """Runs one build in a process of its own and returns its answer (tests/builds/comparison.py).

        `work` is the value of --work-on. An error counts as a failure of the benchmark if the build is `needed`.
        """
        command = [PYTHON, __file__, "--work-on", work, "--folder", str(self.folder), "--arch", self.arguments.arch]
        left_s = None if self.arguments.limit_s is None else self.begun + self.arguments.limit_s - time.monotonic()
        if left_s is not None and left_s <= 0:
            return {"cut": "not begun"}
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            out, err = process.communicate(timeout=left_s)
        except subprocess.TimeoutExpired:
            return {"cut": "not done"}
        finally:
            end_tree(process)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        answer = (
            json.loads(lines[-1]) if lines else {"error": err[-500:] or f"no answer, exit code {process.returncode}"}
        )
        if "error" in answer and needed:
            self.failures.append(f"{work}: {answer['error']}")
        return answer

    def figure(self, what: str, answer: dict) -> None:
        """Keeps and prints the time of a successful build as a row of the result."""
        if "s" in answer:
            self.figures[what] = answer["s"]
            print(f"{what:55} {answer['s']:9.3f} s   {answer.get('way', '')} {answer.get('wrong', '')}", flush=True)

    def show(self) -> None:
        for failure in self.failures:
            print(f"FAILED {failure}", file=sys.stderr)
        self.write()

    def write(self) -> None:
        """Writes the figures after each build, so that an interrupted run leaves those of finished builds."""
        if not self.arguments.json:
            return
        machine = {
            "machine": platform.platform(),
            "processors": len(os.sched_getaffinity(0)),
            "date": time.strftime("%Y-%m-%d"),
            "command": sys.argv,
            "at_once": self.arguments.jobs,
        }
        found = {
            "seconds": self.figures,
            "failures": self.failures,
            "undone": comparison.cut_builds_of(self.sources),
            "sources": self.sources,
        }
        unfinished = Path(f"{self.arguments.json}.new")
        unfinished.write_text(json.dumps({**machine, **found}, indent=1) + "\n")
        unfinished.replace(self.arguments.json)


def many_names(count: int) -> list[str]:
    """Returns the names of the first sources of tests/builds, one of each family in turn.

    Parses the file corpus.py instead of importing it, because the import needs torch.
    """
    import ast

    tree = ast.parse((ROOT / "tests/builds/corpus.py").read_text())
    families = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FAMILIES"
    )
    return [f"{family.id}_{i}" for i in range(10) for family in families.elts][:count]  # type: ignore[attr-defined]


# --- one build, which runs in its own process


def work(arguments: argparse.Namespace) -> int:
    kind, _, name = arguments.work_on.partition(" ")
    folder = Path(arguments.folder)
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{arguments.arch[3:-1]}.{arguments.arch[-1]}"
    sys.path.insert(0, str(HARNESS))
    import torch
    from torch.utils import cpp_extension

    begun = time.monotonic()
    try:
        if kind == "nvrtc":
            answer = nvrtc(arguments.arch)
        elif kind == "nvrtc_alone":
            answer = nvrtc_alone(arguments.arch)
        elif kind == "nvcc":
            (folder / "raw.cu").write_text(RAW)
            begun = time.monotonic()
            subprocess.run(
                [
                    os.path.join(cpp_extension.CUDA_HOME, "bin/nvcc"),
                    "-cubin",
                    f"-arch={arguments.arch}",
                    "-o",
                    str(folder / "raw.cubin"),
                    str(folder / "raw.cu"),
                ],
                check=True,
            )
            answer = {"s": time.monotonic() - begun}
        elif kind == "header":
            answer = compile_child(folder, f"header-{name}", json.dumps({"precompile": name}), arguments.arch)
            shutil.move(folder / f"header-{name}/out", folder / "shared" / name)
        else:
            import corpus

            case = next(case for case in corpus.cases() if case.name == name)
            answer = {"kq": build, "torch": build_by_torch, "load": load}[kind](folder, case, arguments.arch)
            module = answer.pop("module", None)
            device = "cuda" if case.cuda and torch.cuda.is_available() else "cpu"
            answer["cpu_s"] = compilers_cpu_s()
            if module is not None and (device == "cuda" or not case.cuda):
                answer["ran_on"] = torch.cuda.get_device_name() if device == "cuda" else "cpu"
                answer |= run_module(case, module, device)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:500]}
    print(json.dumps(answer), flush=True)
    os._exit(0)


def run_module(case, module, device: str) -> dict:  # type: ignore[no-untyped-def]
    """Runs a built module. Returns the difference from the expected output and a digest of the output; an exception is
    returned as a difference, because the build itself succeeded.
    """
    import corpus

    try:
        return {"wrong": corpus.wrong(case, module, device), "digest": corpus.digest(case, module, device)}
    except Exception as error:
        return {"wrong": f"{case.name}: {type(error).__name__}: {error}"[:500]}


def compilers_cpu_s() -> float:
    """Returns the processor time of the compilers, which are ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call_of(case):  # type: ignore[no-untyped-def]
    import corpus
    from harness.extensions.loader_call import inline_call
    from torch.utils import cpp_extension

    bound = inspect.signature(cpp_extension.load_inline).bind(**corpus.arguments_of(case))
    bound.apply_defaults()
    return inline_call(bound.arguments)


def compile_child(folder: Path, name: str, text: str, arch: str, variant: str = "") -> dict:
    import torch
    from harness.children.job import Job
    from harness.extensions import compile_child

    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    for part in ("src", "work", "out"):
        (place / part).mkdir(parents=True)
    (place / "src/call.json").write_text(text)
    if variant:
        (place / "src/variant").write_text(variant)
    shared = folder / "shared"
    begun = time.monotonic()
    compile_child.main(
        Job(
            "compile",
            torch.device("cpu"),
            "torch_cuda",
            place / "src",
            place / "src",
            place / "work",
            place / "out",
            "",
            "",
            None,
            arch,
            shared=shared,
        )
    )
    seconds = time.monotonic() - begun
    if (place / "out/status").read_text() != "ok\n":
        return {"error": (place / "out/message").read_text()[:500]}
    flags = (place / "out/toolchain").read_text().splitlines()[1]
    return {"s": seconds, "way": next((way for way in ("split", "full") if flags.endswith(f"({way})")), "")}


def build(folder: Path, case, arch: str) -> dict:  # type: ignore[no-untyped-def]
    call = call_of(case)
    answer = compile_child(folder, f"kq-{case.name}", call.text(), arch, "O1" if call.with_cuda else "O2")
    if "s" in answer:
        answer["module"] = loaded(case.name, folder / f"kq-{case.name}/out/module.so")
    return answer


def build_by_torch(folder: Path, case, arch: str) -> dict:  # type: ignore[no-untyped-def]
    import corpus
    from torch.utils import cpp_extension

    place = folder / f"torch-{case.name}"
    place.mkdir(exist_ok=True)
    begun = time.monotonic()
    module = cpp_extension.load_inline(**corpus.arguments_of(case), build_directory=str(place))
    return {"s": time.monotonic() - begun, "module": module}


def load(folder: Path, case, arch: str) -> dict:  # type: ignore[no-untyped-def]
    """Measures the load of a built library as a submission's child does it: from the call to the module."""
    from harness.extensions.loader import MANIFEST, Extensions

    source = folder / f"load-{case.name}"
    source.mkdir()
    begun = time.monotonic()
    call = call_of(case)
    shutil.copy(folder / f"kq-{case.name}/out/module.so", source / "kq_extension_0.so")
    (source / MANIFEST).write_text(json.dumps({"modules": {call.key(): "kq_extension_0.so"}}))
    module = Extensions(source, json.loads((source / MANIFEST).read_text())["modules"]).module_for(call)
    return {"s": time.monotonic() - begun, "module": module}


def loaded(name: str, path: Path):  # type: ignore[no-untyped-def]
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nvrtc(arch: str) -> dict:
    """Returns the median time of one compile in fresh forks of a process that has opened NVRTC. Each fork has compiled
    once before, as pre-forked build children have.
    """
    from harness.kernels.build_child import warm_up
    from harness.kernels.nvrtc import Nvrtc
    from harness.zygote import huge_pages

    compiler = Nvrtc()
    ctypes.CDLL(None).prctl(huge_pages.PR_SET_THP_DISABLE, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    children = []
    for i in range(NVRTC_CHILDREN):
        reading, writing = os.pipe()
        if os.fork() == 0:
            huge_pages.enable_for_process()
            warm_up(compiler, arch)
            os.write(writing, json.dumps(compile_raw(compiler, i, arch)).encode())
            os._exit(0)
        os.wait()
        children.append(json.loads(os.read(reading, 100)))
    return median_of(children)


def nvrtc_alone(arch: str) -> dict:
    """Returns the lower bound of nvrtc(): the median time of a compile in one process that has compiled before."""
    from harness.kernels.nvrtc import Nvrtc
    from harness.zygote import huge_pages

    huge_pages.enable_for_process()
    compiler = Nvrtc()
    return median_of([compile_raw(compiler, i, arch) for i in range(2 * NVRTC_CHILDREN)][NVRTC_CHILDREN:])


def compile_raw(compiler: "Nvrtc", number: int, arch: str) -> tuple[float, float]:
    """Returns the processor time and the elapsed time of one compile, in seconds."""
    begun, worked = time.monotonic(), time.process_time()
    compiler.compile(
        RAW.replace("1.0f", f"{number}.5f").encode(), "add.cu", [f"--gpu-architecture={arch}", "--minimal"], ["add"]
    )
    return time.process_time() - worked, time.monotonic() - begun


def median_of(compiles: list) -> dict:
    worked, seconds = (statistics.median(column) for column in zip(*compiles))
    return {"s": seconds, "way": f"{worked * 1e3:.1f} ms of processor time"}


if __name__ == "__main__":
    sys.exit(main())
