"""Checks kq with a checkout of KernelBench. Usage: kernelbench_check.py DIR; needs pydra-config, tabulate and numpy.

Every problem file must be accepted, and KernelBench's own analysis of the results that kq-dump wrote must print the
figures that kq-leaderboard prints. No kernel runs: a worker with invented results answers. KernelBench's script and
modules run unmodified, except for the package's __init__, which needs torch and a client of a language model and is
left out.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kq

LEVELS = {1: 100, 2: 100, 3: 50}
SAMPLES = 2
RUN_ANALYSIS = """
import runpy, sys, types
package = types.ModuleType("kernelbench")
package.__path__ = [sys.argv[1] + "/src/kernelbench"]
sys.modules["kernelbench"] = package
script = sys.argv[1] + "/scripts/benchmark_eval_analysis.py"
sys.argv[:2] = [script]
runpy.run_path(script, run_name="__main__")
"""


def fail(sentence: str) -> None:
    print(f"check-kernelbench: {sentence}", file=sys.stderr)
    sys.exit(1)


def problem_files(root: Path, level: int) -> list[Path]:
    files = [
        path for path in (root / "KernelBench" / f"level{level}").glob("*.py") if path.name.split("_")[0].isdigit()
    ]
    return sorted(files, key=lambda path: int(path.name.split("_")[0]))


def check_problems(root: Path) -> None:
    """Checks that kq-submit and the Python client accept every problem, as a file and as a line of the data set."""
    with tempfile.TemporaryDirectory(prefix="kq-kb.") as folder:
        data_set = Path(folder, "hosted.jsonl")
        with data_set.open("w") as lines:
            for level in LEVELS:
                for path in problem_files(root, level):
                    problem = {
                        "code": path.read_text(),
                        "level": level,
                        "name": path.stem,
                        "problem_id": int(path.name.split("_")[0]),
                    }
                    lines.write(json.dumps(problem) + "\n")
        for words in ([root / "KernelBench" / f"level{level}" for level in LEVELS], [data_set]):
            jobs = json.loads(
                kq.kq_or_exit("check-kernelbench", "submit", *words, "--dry-run", "--json", "--run", "all")
            )["jobs"]
            if len({job["label"] for job in jobs}) != sum(LEVELS.values()):
                fail(f"kq-submit takes {len(jobs)} of {sum(LEVELS.values())} problems from {words[0]}")
    for level, count in LEVELS.items():
        files = problem_files(root, level)
        if len(files) != count:
            fail(f"level{level} has {len(files)} problems, {count} are expected in {root}/KernelBench")
        for path in files:
            compile(path.read_bytes(), str(path), "exec")


def write_run(root: Path, run: Path) -> None:
    """Writes two samples per problem, which are the reference itself under the name ModelNew."""
    run.mkdir(parents=True)
    for level in LEVELS:
        for path in problem_files(root, level):
            kernel = re.sub(r"\bModel\b", "ModelNew", path.read_text())
            for sample in range(SAMPLES):
                name = f"level_{level}_problem_{path.name.split('_')[0]}_sample_{sample}_kernel.py"
                (run / name).write_text(f"{kernel}\n# sample {sample}\n")


def analysis(root: Path, export: Path, level: int, baseline: Path, out: Path) -> dict:
    words = [f"run_name=level{level}", f"level={level}", "hardware=any", "baseline=any", f"baseline_file={baseline}",
             f"eval_results_dir={export}", f"output_file={out}"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", RUN_ANALYSIS, str(root), *words], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        fail(f"KernelBench's analysis of level {level} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(out.read_text())


def compare(level: int, theirs: dict, ours: dict) -> None:
    for key in ("total_count", "total_eval", "compiled_count", "correct_count", "compilation_rate", "correctness_rate"):
        if theirs[key] != ours[key]:
            fail(f"level {level}: {key} is {theirs[key]} for KernelBench and {ours[key]} for kq-leaderboard")
    if abs(theirs["geo_mean_speedup"] / ours["geo_mean_speedup"] - 1) > 1e-9:
        fail(
            f"level {level}: geo_mean_speedup is {theirs['geo_mean_speedup']} for KernelBench "
            f"and {ours['geo_mean_speedup']} for kq-leaderboard"
        )
    for key in ("fast_p", "pass_at_k"):
        if theirs[key] != ours[key]:
            fail(f"level {level}: {key} is {theirs[key]} for KernelBench and {ours[key]} for kq-leaderboard")


def check_analysis(root: Path, folder: Path) -> None:
    url, store = f"ipc://{folder}/b", folder / "store"
    write_run(root, folder / "runs" / "made")
    with kq.program("kq-broker", "--bind", url, "--store", store):
        worker = subprocess.Popen([str(kq.BIN / "light_worker"), url, "w"], env=kq.environment())
        try:
            kq.kq_or_exit(
                "check-kernelbench",
                "submit",
                folder / "runs" / "made",
                "--problems",
                root,
                "--wait",
                "--exit-zero",
                "--quiet",
                KQ_BROKER=url,
            )
        finally:
            worker.kill()
            worker.wait()
        export = folder / "export"
        kq.kq_or_exit(
            "check-kernelbench",
            "dump",
            "--run",
            "made",
            "--format",
            "kernelbench",
            "-o",
            export,
            "--pass-at-k",
            "1,2",
            KQ_BROKER=url,
        )
        (own,) = export.glob("timing/*/baseline_time_torch.json")
        shipped = sorted(root.glob("results/timing/*/baseline_time_torch.json"))
        for baseline in [own, *shipped[:1]]:
            more = [] if baseline == own else ["--baseline", baseline]
            words = ["--run", "made", "--kernelbench", "--whole-level", "--pass-at-k", "1,2", "--format", "json", *more]
            ours = json.loads(kq.kq_or_exit("check-kernelbench", "leaderboard", *words, KQ_BROKER=url))
            for figures in ours["levels"]:
                level = figures["level"]
                theirs = analysis(root, export, level, baseline, folder / "analysis.json")
                compare(level, theirs, figures)
                print(
                    f"level {level}, {'own' if baseline == own else baseline.parent.name} baseline: "
                    f"{figures['correct_count']} of {figures['total_count']} correct, "
                    f"fast_1 {figures['fast_p']['1.0']:.4f}, as in KernelBench's analysis"
                )


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1], "KernelBench").is_dir():
        print("usage: check-kernelbench DIR, a checkout of KernelBench", file=sys.stderr)
        sys.exit(2)
    root = Path(sys.argv[1]).resolve()
    check_problems(root)
    print(f"{sum(LEVELS.values())} problem files of levels 1 to 3 can be read")
    with tempfile.TemporaryDirectory(prefix="kq-kb.", dir="/tmp") as folder:
        check_analysis(root, Path(folder))


if __name__ == "__main__":
    main()
