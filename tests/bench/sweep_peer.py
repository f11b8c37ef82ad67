"""Evaluates the same kernels with KernelBench's own code, for scripts/bench sweep --peer: one process per sample.

    sweep_peer.py CHECKOUT JOB.json
        is the process of one sample: calls src/kernelbench/eval.py and prints the result as JSON

KernelBench imports packages for data classes and language models that a GPU machine may not have. Missing packages are
replaced by empty modules, which take less time to import than the real ones.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sweep_jobs import Job

LIMIT_S = 180  # KernelBench's own limit for a batch
BUILD_LIMIT_S = 600
BUILDS_MAX = 20  # KernelBench's num_cpu_workers
BACKENDS = {
    "torch": "cuda",
    "triton": "triton",
    "torch_cuda": "cuda",
}  # kq's backend -> KernelBench's backend, which loads torch_cuda and cuda the same way


@dataclass
class Peer:
    checkout: Path
    python: str
    folder: Path
    trials: dict[str, int]
    gpu_count: int

    def measure(self, jobs: list[Job], cold: bool) -> dict:
        """Evaluates the samples in batches of one per GPU; a batch starts when the whole batch before it is done.

        With prebuilding, all kernels are built before the first batch.
        """
        build_s = 0.0
        compiled = [job for job in jobs if job.backend == "torch_cuda"]
        if compiled and not cold:
            start = time.monotonic()
            with ThreadPoolExecutor(min(BUILDS_MAX, os.cpu_count() or 1)) as pool:
                list(pool.map(lambda job: self.sample(job, 0, BUILD_LIMIT_S, build_only=True), compiled))
            build_s = time.monotonic() - start
        start = time.monotonic()
        answers = []
        for first in range(0, len(jobs), self.gpu_count):
            batch = jobs[first : first + self.gpu_count]
            with ThreadPoolExecutor(len(batch)) as pool:
                answers += pool.map(
                    lambda pair: self.sample(pair[1], pair[0], BUILD_LIMIT_S if cold else LIMIT_S), enumerate(batch)
                )
        wall_s = time.monotonic() - start
        by_backend = {}
        for backend in sorted({job.backend for job in jobs}):
            mine = [answer for job, answer in zip(jobs, answers, strict=True) if job.backend == backend]
            by_backend[backend] = {
                "jobs_n": len(mine),
                "process_s_p50": statistics.median(answer["process_s"] for answer in mine),
                "evaluation_s_p50": statistics.median(answer.get("evaluation_s", 0) for answer in mine),
            }
        wrong = [
            {"label": job.label, "message": answer["complaint"]}
            for job, answer in zip(jobs, answers, strict=True)
            if answer["complaint"]
        ]
        return {
            "jobs_n": len(jobs),
            "wall_s": wall_s,
            "results_per_hour": len(jobs) / wall_s * 3600,
            "builds_before_s": build_s,
            "by_backend": by_backend,
            "not_right_n": len(wrong),
            "not_right": wrong[:5],
            "stand_ins": sorted({name for answer in answers for name in answer.get("stand_ins", [])}),
        }

    def sample(self, job: Job, device: int, limit_s: float, build_only: bool = False) -> dict:
        place = self.folder / job.label.replace("/", ".")
        place.mkdir(parents=True, exist_ok=True)
        order = {
            "problem": str(job.problem),
            "kernel": str(job.kernel),
            "backend": BACKENDS[job.backend],
            "device": device,
            "build": str(place / "build"),
            "trials": self.trials,
            "build_only": build_only,
        }
        (place / "job.json").write_text(json.dumps(order))
        command = [self.python, str(Path(__file__).resolve()), str(self.checkout), str(place / "job.json")]
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, cwd=place, check=False)
        except subprocess.TimeoutExpired:
            return {"process_s": time.monotonic() - start, "complaint": f"still running after {limit_s} s"}
        process_s = time.monotonic() - start
        try:
            answer = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, json.JSONDecodeError):
            answer = {"complaint": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
        return answer | {"process_s": process_s}


def chosen(jobs: list[Job], count: int) -> list[Job]:
    """Returns a sample of the jobs with equally many of each backend, spread over the sweep."""
    backends = sorted({job.backend for job in jobs})
    found = []
    for backend in backends:
        mine = [job for job in jobs if job.backend == backend]
        wanted = min(len(mine), max(1, count // len(backends)))
        found += [mine[i * len(mine) // wanted] for i in range(wanted)]
    return found


class Record:
    """The part of pydantic.BaseModel that KernelBench uses: fields with defaults, set by name."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)


def replace_missing_modules() -> list[str]:
    """Registers an empty module for each package that is not installed; returns the names of those packages."""

    def sample_deviation(values: list[float]) -> float:
        return statistics.pstdev(values)

    offered = {
        "dotenv": {"load_dotenv": lambda: None},
        "tqdm": {"tqdm": lambda values, **_: values},
        "openai": {"OpenAI": None},
        "litellm": {"completion": None},
        "requests": {},
        "pydantic": {"BaseModel": Record},
        "numpy": {"mean": statistics.fmean, "std": sample_deviation, "min": min, "max": max},
    }
    missing = []
    for name, content in offered.items():
        try:
            importlib.import_module(name)
        except ImportError:
            module = types.ModuleType(name)
            module.__dict__.update(content)
            sys.modules[name] = module
            missing.append(name)
    return missing


def main() -> int:
    checkout, order = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    answer: dict = {"stand_ins": replace_missing_modules()}
    sys.path.insert(0, str(checkout / "src"))
    sys.stdout, out = sys.stderr, sys.stdout  # KernelBench prints to stdout, which must hold only the result
    import torch
    from kernelbench import eval as kernelbench

    kernel = Path(order["kernel"]).read_text()
    start = time.monotonic()
    if order["build_only"]:
        built, _, error = kernelbench.build_compile_cache(kernel, False, order["build"])
        complaint = "" if built else f"it did not build: {error}"
    else:
        result = kernelbench.eval_kernel_against_ref(
            original_model_src=Path(order["problem"]).read_text(),
            custom_model_src=kernel,
            measure_performance=True,
            timing_method="cuda_event",
            verbose=False,
            num_correct_trials=order["trials"]["correctness"],
            num_perf_trials=order["trials"]["timed"],
            build_dir=order["build"],
            device=torch.device(f"cuda:{order['device']}"),
            backend=order["backend"],
            precision=torch.float32,
        )
        right = result is not None and result.compiled and result.correctness and result.runtime > 0
        complaint = "" if right else f"KernelBench says {result.metadata if result is not None else 'nothing'}"
        answer["runtime_ms"] = result.runtime if right else None
    print(json.dumps(answer | {"evaluation_s": time.monotonic() - start, "complaint": complaint[:500]}), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
