"""Checks kq with flashinfer-bench. Usage: KQ_PYTHON=PYTHON flashinfer_bench_check.py, run by an interpreter that has
flashinfer-bench; PYTHON is the worker's. Torch and what these words install are enough for it:

    pip install --no-deps flashinfer-bench
    pip install pydantic safetensors docstring-parser apache-tvm-ffi

flashinfer-bench's own models must read a trace set, the traces that `kq dump` writes from a run of it, and both
together, and its reports must agree with kq. A worker on the CPU judges solutions that end in every way that a trace
can say but by a time limit.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import kq
from flashinfer_bench import EvaluationStatus, TraceSet

NAME = "check-flashinfer-bench"
RUN = "import torch\n\n\ndef run(x, weight):\n    "
REFERENCE = RUN + "return x / x.abs().mean(-1, keepdim=True) * weight\n"
# Reports are log lines of the level INFO, which the command line of flashinfer-bench cannot choose.
RUN_REPORT = """
import flashinfer_bench.cli.main as main
from flashinfer_bench.logging import configure_logging
main.cli_config_logging = lambda args: configure_logging(level="INFO")
main.cli()
"""
# The body of each solution and the status of its traces.
SOLUTIONS = {
    "right": ("return x * (weight / x.abs().mean(-1, keepdim=True))", "PASSED"),
    "same": ("return x / x.abs().mean(-1, keepdim=True) * weight", "PASSED"),
    "wrong": ("return x * weight", "INCORRECT_NUMERICAL"),
    "nan": ("return x * weight * float('nan')", "INCORRECT_NUMERICAL"),
    "infinite": ("return x * weight / 0", "INCORRECT_NUMERICAL"),
    "small": ("return (x * weight)[:1, :3]", "INCORRECT_SHAPE"),
    "double": ("return (x * weight).double()", "INCORRECT_DTYPE"),
    "raises": ("raise ValueError('no \\u2713')", "RUNTIME_ERROR"),
    "dies": ("import os; os.abort()", "RUNTIME_ERROR"),
    "unreadable": ("return (", "COMPILE_ERROR"),
}


def fail(sentence: str) -> None:
    print(f"{NAME}: {sentence}", file=sys.stderr)
    sys.exit(1)


def write(path: Path, *lines: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_set(root: Path) -> None:
    """Writes a trace set in the folders of flashinfer-bench: one definition, two workloads, and the solutions."""
    tensor = {"shape": ["rows", "width"], "dtype": "float32"}
    definition = {"name": "scaled", "op_type": "norm", "reference": REFERENCE, "outputs": {"y": tensor}}
    definition["axes"] = {"rows": {"type": "var"}, "width": {"type": "const", "value": 16}}
    definition["inputs"] = {"x": tensor, "weight": {"shape": ["width"], "dtype": "float32"}}
    write(root / "definitions/norm/scaled.json", definition)
    inputs = {"x": {"type": "random"}, "weight": {"type": "random"}}
    workloads = [{"uuid": f"w{rows}", "axes": {"rows": rows}, "inputs": inputs} for rows in (4, 512)]
    lines = [{"definition": "scaled", "workload": one, "solution": None, "evaluation": None} for one in workloads]
    write(root / "workloads/norm/scaled.jsonl", *lines)
    spec = {"language": "python", "target_hardware": ["cpu"], "entry_point": "main.py::run"}
    spec["destination_passing_style"] = False
    for name, (body, _) in SOLUTIONS.items():
        source = {"path": "main.py", "content": f"{RUN}{body}\n"}
        solution = {"name": name, "definition": "scaled", "author": "ada", "spec": spec, "sources": [source]}
        write(root / f"solutions/ada/norm/scaled/{name}.json", solution)


def judge(root: Path, folder: Path) -> list[dict[str, str]]:
    """Judges the set and writes its traces into it. Returns kq's row of each workload of each solution."""
    url = f"ipc://{folder}/b"
    with kq.program("kq-broker", "--bind", url, "--store", folder / "store"):
        with kq.program("kq-worker", "--connect", url, "--state", folder / "w", "--devices", "cpu"):
            kq.kq_or_exit(NAME, "submit", root, "--run", "set", "--wait", "--exit-zero", "--quiet", KQ_BROKER=url)
        kq.kq_or_exit(
            NAME, "dump", "set", "--format", "flashinfer-trace", "--trace-set", root, "-o", root, KQ_BROKER=url
        )
        return kq.dump("set", "--level", "case", "--broker", url)


def report(verb: str, root: Path) -> str:
    """Returns what `flashinfer-bench report VERB` prints at the level INFO."""
    words = [sys.executable, "-c", RUN_REPORT, "report", verb, "--local", str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"flashinfer-bench report {verb} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout + done.stderr


def check_traces(trace_set: TraceSet, rows: list[dict[str, str]]) -> None:
    traces = trace_set.traces.get("scaled", [])
    for name, (_, status) in SOLUTIONS.items():
        found = {trace.evaluation.status.value for trace in traces if trace.solution == name}
        if found != {status}:
            fail(f"the traces of {name} have the status {sorted(found)}, expected is {status}")
        if trace_set.get_solution(name) is None:
            fail(f"the traces name the solution {name}, which flashinfer-bench does not find")
    workloads = {trace.workload.uuid: trace.workload for trace in trace_set.workloads["scaled"]}
    for trace in traces:
        if trace.workload != workloads[trace.workload.uuid]:
            fail(f"the trace of {trace.solution} has another workload {trace.workload.uuid} than the set")
    errors = {trace.solution: trace.evaluation.correctness for trace in traces}
    if not math.isnan(errors["nan"].max_absolute_error) or not math.isinf(errors["infinite"].max_absolute_error):
        fail("the error of an output with NaN or infinities is a number")
    passed = {(row["label"].rpartition("/")[2], row["case_id"]): row for row in rows if row["verdict"] == "passed"}
    for trace in traces:
        if trace.evaluation.status != EvaluationStatus.PASSED:
            continue
        row = passed.pop((trace.solution, trace.workload.uuid))
        if abs(trace.evaluation.performance.latency_ms * 1000 / float(row["median_us"]) - 1) > 1e-9:
            fail(f"the latency of {trace.solution} is {trace.evaluation.performance.latency_ms} ms in its trace")
    if passed:
        fail(f"these passed workloads have no trace: {sorted(passed)}")


def check_reports(trace_set: TraceSet, root: Path) -> None:
    summary = trace_set.summary()
    right = sum(status == "PASSED" for _, status in SOLUTIONS.values())
    if summary["passed"] != 2 * right or summary["failed"] < len(SOLUTIONS) - right:
        fail(f"flashinfer-bench's summary is {summary}")
    if str(summary) not in report("summary", root):
        fail("`flashinfer-bench report summary` does not print the summary of the set")
    best = trace_set.get_best_trace("scaled")
    if best is None or f"- Solution: {best.solution}" not in report("best", root):
        fail(f"`flashinfer-bench report best` does not print the best solution, which is {best and best.solution}")
    if len(trace_set.filter_traces("scaled")) != summary["passed"]:
        fail("filter_traces() of flashinfer-bench leaves out traces that passed")
    print(f"{summary['total']} traces can be read, {summary['passed']} of them passed; the best is {best.solution}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kq-fib.", dir="/tmp") as name:
        folder = Path(name)
        root = folder / "set"
        write_set(root)
        rows = judge(root, folder)
        trace_set = TraceSet.from_path(str(root))
        check_traces(trace_set, rows)
        check_reports(trace_set, root)


if __name__ == "__main__":
    main()
