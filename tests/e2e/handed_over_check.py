"""Checks that a worker with a GPU runs artifacts that another worker, without a GPU, has built; each has its own cache.

    KQ_BIN=build/release/bin python3 tests/e2e/handed_over_check.py [--device cpu]     # scripts/gpu-check runs it on
    the GPU

A `kq-worker --compile-for` builds queued jobs of raw CUDA, load_inline and triton for the architecture of this
machine's GPU. Then a worker with the GPU and an empty cache runs the jobs. Every job must pass with the builder's
artifact: its row says `build_cached` and names the builder's compiler, and the worker's cache holds those entries of
the builder and nothing else, not even a precompiled header. At last both workers run at the same time and more jobs are
submitted, which must all pass, whichever worker builds them.

Without a GPU everything is built for sm_90 and sent to the broker, and the check ends with exit code 3. The check takes
one to two minutes and needs a CUDA compiler. --device cpu does the same with C++ modules and needs no GPU.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kq

sys.path.insert(0, str(kq.ROOT / "tests/bench"))

from sweep_jobs import Job, problems_of, write_jobs, write_lines  # noqa: E402

BACKENDS = ["cuda", "torch_cuda", "triton"]
COMPILERS = {
    "cuda": "nvrtc",
    "torch_cuda": "nvcc",
    "triton": "triton",
    "torch": "g++",
}  # how a row's build_compiler begins
TRIALS = {"correctness": 2, "warmup": 1, "timed": 5}
BUILD_LIMIT_S = 300
NO_GPU = 3
ARCH_WITHOUT_GPU = "sm_90"


def arch_of_gpu() -> str:
    """Returns the architecture of the GPU, such as "sm_90", or an empty text without a GPU."""
    try:
        asked = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return "sm_" + asked.stdout.split()[0].replace(".", "")


def cpp_jobs(folder: Path, count: int) -> list[Job]:
    folder.mkdir()
    (folder / "relu.py").write_text(kq.RELU)
    jobs = [
        Job(f"relu/{number}_cpp", "torch", folder / "relu.py", folder / f"relu_{number}.py") for number in range(count)
    ]
    for number, job in enumerate(jobs):
        job.kernel.write_text(kq.small_module(number))
    return jobs


class Check:
    def __init__(self, folder: Path, device: str, arch: str) -> None:
        self.folder, self.device, self.arch, self.url = folder, device, arch, f"ipc://{folder}/b"

    def broker(self) -> kq.Program:
        return kq.program("kq-broker", "--bind", self.url, "--store", self.folder / "store")

    def builder(self, builds: int) -> kq.Program:
        return kq.program(
            "kq-worker",
            "--connect",
            self.url,
            "--state",
            self.folder / "builder",
            "--compile-for",
            self.arch,
            "--builds",
            str(builds),
        )

    def worker(self) -> kq.Program:
        return kq.program(
            "kq-worker",
            "--connect",
            self.url,
            "--state",
            self.folder / "worker",
            "--devices",
            self.device,
            "--builds",
            "1",
        )

    def ctl(self, *words: str) -> dict:
        done = kq.kq("ctl", *words, "--json", KQ_BROKER=self.url)
        assert done.returncode == 0, done.stderr
        return kq.json.loads(done.stdout)

    def figure(self, name: str, **labels: str) -> int:
        return next(
            int(one["value"]) for one in self.ctl("stats")["metrics"] if one["name"] == name and one["labels"] == labels
        )

    def submit(self, run: str, jobs: list[Job]) -> None:
        lines = self.folder / f"{run}.jsonl"
        write_lines(lines, jobs, self.device, TRIALS)
        done = kq.kq("submit", lines, "--run", run, KQ_BROKER=self.url)
        assert done.returncode == 0, done.stderr

    def rows(self, run: str) -> dict[str, dict[str, str]]:
        return {row["label"]: row for row in kq.dump(run, "--broker", self.url)}

    def wait_for(self, run: str) -> dict[str, dict[str, str]]:
        kq.wait_until(lambda: all(row["verdict"] for row in self.rows(run).values()), f"{run} has ended", BUILD_LIMIT_S)
        rows = self.rows(run)
        bad = [
            f"{label}: {row['verdict']} {row['reason']}: {row['message']}"
            for label, row in rows.items()
            if row["verdict"] != "passed"
        ]
        assert not bad, "\n".join(bad)
        return rows

    def cache(self, role: str) -> dict[str, str]:
        """Returns the kind of every cache entry by name."""
        done = kq.kq("ctl", "cache", "ls", "--json", "--state", self.folder / role)
        assert done.returncode == 0, done.stderr
        return {entry["name"]: entry["kind"] for entry in kq.json.loads(done.stdout)}

    def build_ahead(self, jobs: list[Job]) -> None:
        """Checks that the broker has an artifact for every job and that no job has run."""
        self.submit("ahead", jobs)
        begun = time.monotonic()
        kq.wait_until(
            lambda: self.figure("kq_build_objects") + self.figure("kq_builds_total", ending="declined") == len(jobs),
            "all are built",
            BUILD_LIMIT_S,
        )
        declined = self.figure("kq_builds_total", ending="declined")
        assert declined == 0, f"{declined} of {len(jobs)} builds failed"
        print(
            f"{len(jobs)} jobs and the precompiled headers were built for {self.arch} by a worker without a device "
            f"in {time.monotonic() - begun:.1f} s"
        )

    def run_artifacts(self, jobs: list[Job]) -> None:
        begun = time.monotonic()
        rows = self.wait_for("ahead")
        seconds = time.monotonic() - begun
        for job in jobs:
            row = rows[job.label]
            print(
                f"{job.label:30} {row['verdict']} build_cached {row['build_cached']}, {float(row['build_s']):.3f} s; "
                f"{row['build_compiler']}; {row['build_flags']}"
            )
            assert row["build_cached"] == "true", row
            assert row["build_compiler"].lower().startswith(COMPILERS[job.backend]), row
        mine, theirs = self.cache("worker"), self.cache("builder")
        assert "header" not in mine.values(), f"the worker made a precompiled header: {mine}"
        assert set(mine) <= set(theirs), f"the worker built {sorted(set(mine) - set(theirs))} itself"
        print(
            f"all {len(rows)} jobs passed on {self.device} with artifacts of the builder, the last {seconds:.1f} s "
            "after the worker's start; the worker built nothing itself"
        )
        for backend in sorted({job.backend for job in jobs}):
            took = [float(rows[job.label]["build_s"]) for job in jobs if job.backend == backend]
            print(
                f"{backend:10} from a builder's artifact: {statistics.median(took):.3f} s in the median, "
                f"{max(took):.3f} at most"
            )

    def run_with_both_workers(self, jobs: list[Job]) -> None:
        """Runs both workers at the same time; they share the jobs."""
        before = self.figure("kq_builds_total", ending="taken")
        self.submit("both", jobs)
        begun = time.monotonic()
        rows = self.wait_for("both")
        taken = self.figure("kq_builds_total", ending="taken") - before
        cached = sum(row["build_cached"] == "true" for row in rows.values())
        print(
            f"with both workers {len(rows)} jobs passed in {time.monotonic() - begun:.1f} s; the builder built "
            f"{taken}, and {cached} rows say build_cached"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--jobs", type=int, default=12, metavar="N", help="jobs in the first part, and in the last (default 12)"
    )
    parser.add_argument(
        "--builds", type=int, default=4, metavar="N", help="builds that run at the same time (default 4)"
    )
    parser.add_argument(
        "--device", choices=["cuda", "cpu"], default="cuda", help="the device that runs the jobs (default cuda)"
    )
    options = parser.parse_args()
    arch = "cpu" if options.device == "cpu" else arch_of_gpu()
    with tempfile.TemporaryDirectory(prefix="kq-handed.", dir="/tmp") as place:
        folder = Path(place)
        check = Check(folder, options.device, arch or ARCH_WITHOUT_GPU)
        n = 2 * options.jobs
        jobs = (
            cpp_jobs(folder / "jobs", n)
            if arch == "cpu"
            else write_jobs(folder / "jobs", problems_of(4, 512, 1024), BACKENDS, n)
        )
        first, second = jobs[: options.jobs], jobs[options.jobs :]
        try:
            with check.broker():
                with check.builder(options.builds):
                    check.build_ahead(first)
                    if not arch:
                        print("skipped: there is no GPU here to run what was built")
                        return NO_GPU
                    with check.worker():
                        check.run_artifacts(first)
                        check.run_with_both_workers(second)
            done = kq.kq("ctl", "verify", "--store", folder / "store")
            assert done.returncode == 0, done.stdout + done.stderr
        except AssertionError as failed:
            print(f"handed_over_check: {failed}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
