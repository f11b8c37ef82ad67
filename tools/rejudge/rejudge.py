#!/usr/bin/env python3
"""kq rejudge: judges published kernels again, and prints their claim beside kq's result.

    kq rejudge SET --from PATH    SET is cuda-l1, kernelbench.com or robust-kbench; PATH is your copy of it:

    cuda-l1            a .json file of optimized_cuda_code, such as h100.json: lines with ref_code and custom_code
    kernelbench.com    a checkout of it: problems with reference.py, solutions in public/runs, leaderboards
    robust-kbench      a checkout of it: tasks, and the kernels of highlighted/results.csv

The kernels become jobs of one run through `kq submit`, so --broker, KQ_BROKER and keys work as there. A call that is
repeated with the same --run judges nothing twice. Nothing of a set is kept but in the broker.
"""

import argparse
import csv
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OK, BAD_INPUT, OUR_FAULT = 0, 2, 3
FIELD_BYTES_MAX = 1 << 24  # of a field of results.csv
AGREES = (0.8, 1.25)  # a speedup within these factors of the claim agrees with it
REASON_CHARACTERS = 100
DEFAULT_LEADERBOARD = "leaderboard.json"


class BadInput(Exception):
    """Says in one sentence what is wrong with the set or an option."""


@dataclass
class Published:
    """A published kernel: its line for kq submit, and what is claimed of it."""

    label: str
    line: dict[str, Any]
    correct: bool = True
    speedup: float | None = None  # over the eager reference
    claim: str = ""  # where it is no speedup: "30.3% of peak"
    gpu: str = ""  # on which it was measured

    def claim_text(self) -> str:
        if not self.correct:
            return "wrong"
        return self.claim or (f"{self.speedup:.2f}x" if self.speedup is not None else "right")


@dataclass
class Found:
    """What a set holds, and sentences about what was left out."""

    kernels: list[Published] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_cuda_l1(path: Path) -> Found:
    """Reads lines with both texts. The GPU is the name of the file."""
    found = Found()
    without = 0
    with path.open() as lines:
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            try:
                one = json.loads(text)
                code, reference = one.get("custom_code"), one["ref_code"]
                label = f"level{one['level_id']}/{one['task_id']}"
            except (ValueError, KeyError, AttributeError) as error:
                raise BadInput(
                    f"{path}:{number} is no line of CUDA-L1 with ref_code, level_id and task_id: {error}"
                ) from error
            if not code:
                without += 1
                continue
            claim = one.get("score_default")
            speedup = float(claim) if isinstance(claim, (int, float)) else None
            line = {"problem_source": reference, "source": code}
            found.kernels.append(Published(label, line, speedup=speedup, gpu=path.stem.upper()))
    if without:
        found.notes.append(f"{without} lines have no custom_code")
    return found


def read_kernelbench_com(root: Path, board: str) -> Found:
    """Reads the runs of the leaderboards whose solution and problem are in the checkout."""
    found = Found()
    missing = 0
    files = sorted((root / "benchmarks").glob(f"*/results/{board}"))
    if not files:
        raise BadInput(f"{root} has no benchmarks/*/results/{board}")
    for file in files:
        data = json.loads(file.read_text())
        gpu = str(data.get("hardware", {}).get("name", ""))
        for model in data.get("models", []):
            for name, result in model.get("results", {}).items():
                if not result.get("has_solution"):
                    continue
                solution = solution_of(root, str(result.get("run_id")))
                problem = problem_of(file.parents[1], name, board)
                if solution is None or problem is None:
                    missing += 1
                    continue
                peak = result.get("peak_fraction")
                claim = f"{peak:.1%} of peak" if isinstance(peak, (int, float)) else ""
                label = f"{file.parents[1].name}/{name}/{result['run_id']}"
                line = {"problem": str(problem), "source": solution.read_text(), "author": model.get("label", "")}
                found.kernels.append(Published(label, line, bool(result.get("correct")), claim=claim, gpu=gpu))
    if missing:
        found.notes.append(f"{missing} runs have no solution or no reference.py in the checkout")
    return found


def solution_of(root: Path, run: str) -> Path | None:
    names = (f"public/runs/{run}_solution.py.txt", f"public/data/mega/code/{run}.solution.py.txt")
    return next((root / name for name in names if (root / name).is_file()), None)


def problem_of(benchmark: Path, name: str, board: str) -> Path | None:
    """Returns the reference of a problem, of the GPU that the leaderboard's name ends with where there is one."""
    gpu = board.removesuffix(".json").rpartition(".")[2]
    folders = [benchmark / f"problems-{gpu}", benchmark / "problems", *sorted(benchmark.glob("problems-*"))]
    return next(
        (folder / name / "reference.py" for folder in folders if (folder / name / "reference.py").is_file()), None
    )


# What makes a problem of kq from a task: one workload with the sizes of the configuration.
TASK_END = """

_task_inputs = get_inputs
WORKLOADS = [{{"name": "single", "number": 0}}]


def get_inputs(number):
    return _task_inputs(**{inputs!r})


def get_init_inputs(number):
    return {init!r}
"""


def read_robust_kbench(root: Path) -> Found:
    """Reads the highlighted forward kernels. Their tasks are called with their single configuration."""
    found = Found()
    table = root / "highlighted/results.csv"
    if not table.is_file():
        raise BadInput(f"{root} has no highlighted/results.csv")
    csv.field_size_limit(FIELD_BYTES_MAX)
    backward = 0
    with table.open(newline="") as rows:
        for row in csv.DictReader(rows):
            if row["forward"] != "True":
                backward += 1
                continue
            task = root / "tasks" / row["task_name"]
            config = json.loads((task / "config_forward.json").read_text())
            init, inputs = single(config, "init"), single(config, "input")
            problem = (task / "func_forward.py").read_text() + TASK_END.format(inputs=inputs, init=init)
            line = {"problem_source": problem, "source": row["Code"]}
            speedup = float(row["Speedup"]) if row["Speedup"] else None
            label = f"{row['task_name']}/{row['Kernel Name']}"
            found.kernels.append(Published(label, line, row["Correct"] == "True", speedup, gpu="H100"))
    if backward:
        found.notes.append(f"{backward} kernels are of a backward pass, whose tasks are functions of autograd")
    return found


def single(config: dict[str, Any], kind: str) -> dict[str, Any]:
    shared = config.get("single_shared_configs") or [{}]
    own = config.get(f"single_{kind}_configs") or [{}]
    return {**shared[0], **own[0]}


def reason_of(published: Published, row: dict[str, Any] | None) -> str:
    """Returns why kq's result differs from the claim, or that it agrees."""
    if row is None or row["state"] != "finished":
        return "the job is not finished"
    if row["verdict"] != "passed":
        if not published.correct and row["verdict"] == "wrong_answer":
            return "agrees: wrong here, too"
        said = " ".join(str(row["message"] or "").split())
        return f"{said[:REASON_CHARACTERS]}{'...' if len(said) > REASON_CHARACTERS else ''}" or row["verdict"]
    if not published.correct:
        return "right here: kq's inputs and tolerance are its own"
    notes = []
    if row.get("passed_by") == "truth":
        notes.append("right by float64, not by the reference")
    if row.get("fell_back"):
        notes.append("its extension does not compile: the time of its fallback")
    if row.get("problem_warnings"):
        notes.append(f"the problem is doubtful ({row['problem_warnings']})")
    ours = row["speedup"]
    if published.speedup is None or not ours:
        return "; ".join(notes) or "right, as claimed"
    low, high = (factor * published.speedup for factor in AGREES)
    if low <= ours <= high:
        return "; ".join(["agrees", *notes])
    if published.gpu and published.gpu.upper() not in str(row["device_model"]).upper():
        notes.append(f"claimed on {published.gpu}, measured on {row['device_model']}")
    notes.append("every call here has new inputs, an emptied cache and a clock outside of the kernel's process")
    return "; ".join(notes)


def table_text(kernels: list[Published], rows: dict[str, dict[str, Any]]) -> str:
    cells = [["kernel", "claim", "verdict", "speedup", "time", "why it differs"]]
    agreed = 0
    for one in kernels:
        row = rows.get(one.label)
        reason = reason_of(one, row)
        agreed += reason.startswith(("agrees", "right, as claimed"))
        verdict = "-" if row is None else row["verdict"] or row["state"]
        speedup = f"{row['speedup']:.2f}x" if row and row["speedup"] else "-"
        time = f"{row['median_us']:.4g} us" if row and row["median_us"] else "-"
        cells.append([one.label, one.claim_text(), verdict, speedup, time, reason])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells]
    return "\n".join([*lines, f"{len(kernels)} kernels: {agreed} as claimed"]) + "\n"


def submit(kernels: list[Published], run: str, words: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="kq-rejudge.") as folder:
        path = Path(folder, "submissions.jsonl")
        with path.open("w") as lines:
            for one in kernels:
                lines.write(json.dumps({"id": one.label, **one.line}) + "\n")
        call(["submit", str(path), "--run", run, "--wait", "--exit-zero", "--keep-going", *words], capture=False)


def call(words: list[str], capture: bool = True) -> str:
    program = Path(sys.argv[0]).with_name("kq")
    done = subprocess.run(
        [str(program) if program.exists() else "kq", *words],
        stdout=subprocess.PIPE,
        stderr=None if not capture else subprocess.PIPE,
        text=True,
        check=False,
    )
    # A kernel that cannot be sent is a mistake of the set; the others are judged.
    if done.returncode != 0 and (capture or done.returncode != BAD_INPUT):
        raise BadInput((done.stderr or "").strip() or f"kq {words[0]} ended with exit code {done.returncode}")
    return done.stdout


def main() -> int:
    text = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="kq-rejudge", description=text[0], epilog=text[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=["cuda-l1", "kernelbench.com", "robust-kbench"])
    parser.add_argument("--from", dest="path", type=Path, required=True, help="your copy of the set")
    parser.add_argument("--run", default="", help="name of the run (default: the name of the set)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="judge only labels like this: 'level1/*'")
    parser.add_argument("--first", type=int, metavar="N", help="judge only so many")
    parser.add_argument(
        "--leaderboard", default=DEFAULT_LEADERBOARD, help="kernelbench.com: leaderboard.h100.json, ..."
    )
    parser.add_argument("--broker", default="", help="URL of the broker (default: $KQ_BROKER, or kq's own default)")
    parser.add_argument(
        "--submit-option",
        action="append",
        default=[],
        metavar="WORD",
        help="one more word for kq submit, after an equals sign: --submit-option=--force-rerun",
    )
    parser.add_argument("--dry-run", action="store_true", help="list what would be judged, and send nothing")
    given = parser.parse_args()
    if not given.path.exists():
        raise BadInput(f"--from {given.path} does not exist")
    if given.set == "cuda-l1":
        found = read_cuda_l1(given.path)
    elif given.set == "kernelbench.com":
        found = read_kernelbench_com(given.path, given.leaderboard)
    else:
        found = read_robust_kbench(given.path)
    kernels = [one for one in found.kernels if fnmatch.fnmatchcase(one.label, given.only)][: given.first]
    for note in found.notes:
        print(f"kq-rejudge: left out: {note}", file=sys.stderr)
    if not kernels:
        raise BadInput(f"{given.path} has no kernel like '{given.only}'")
    if given.dry_run:
        print("".join(f"{one.label}  {one.claim_text()}\n" for one in kernels), end="")
        return OK
    if given.broker:
        os.environ["KQ_BROKER"] = given.broker
    run = given.run or given.set
    submit(kernels, run, given.submit_option)
    rows = [json.loads(line) for line in call(["dump", "--run", run, "--format", "jsonl"]).splitlines()]
    print(table_text(kernels, {row["label"]: row for row in rows}), end="")
    return OK


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadInput as error:
        print(f"kq-rejudge: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (OSError, ValueError) as error:
        print(f"kq-rejudge: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(130)
