"""Outcomes as the texts that eval.py, popcorn-cli's report and KernelBench's run_and_check.py print."""

from __future__ import annotations

from typing import Any

from kq.popcorn.evaluation import Case, Outcome

NS_PER_US = 1e3
US_PER_MS = 1e3


def protocol_lines(outcome: Outcome, mode: str) -> str:
    """Returns what an eval program writes to POPCORN_FD. Times are in nanoseconds; the mean is kq's published time."""
    kind = "test" if mode == "test" else "benchmark"
    cases = [case for case in outcome.cases if case.kind == kind]
    lines = [f"{kind}-count: {len(cases)}"]
    for index, case in enumerate(cases):
        lines.append(f"{kind}.{index}.spec: {case.spec}")
        if not case.passed:
            lines += [f"{kind}.{index}.status: fail", f"{kind}.{index}.error: {one_line(outcome.message)}"]
        elif kind == "test":
            lines.append(f"{kind}.{index}.status: pass")
        else:
            lines += [f"{kind}.{index}.{name}: {value}" for name, value in figures(case).items()]
    if not outcome.passed and all(case.passed for case in cases):
        lines += [f"{kind}.{len(cases)}.status: fail", f"{kind}.{len(cases)}.error: {one_line(outcome.message)}"]
    return "\n".join([*lines, f"check: {'pass' if outcome.passed else 'fail'}"]) + "\n"


def figures(case: Case) -> dict[str, float]:
    return {
        "runs": case.runs,
        "mean": case.time_ns,
        "std": case.std_ns,
        "err": case.error_ns,
        "best": case.best_ns,
        "worst": case.worst_ns,
    }


def report(outcome: Outcome, mode: str) -> str:
    """Returns the report of popcorn-cli. All times are in microseconds, because readers such as Autocomp take a number
    without a unit of milliseconds for that.
    """
    sign, word = ("✅", "successful") if outcome.passed else ("❌", "failed")
    stages = {"test": ["Testing"], "benchmark": ["Benchmarking"]}.get(
        mode, ["Testing", "Benchmarking", "Leaderboard run"]
    )
    text = "".join(f"{sign} {stage} {word}\n" for stage in stages)
    if not outcome.passed:
        return f"{text}> {outcome.verdict}: {outcome.message}\n"
    titles = {"test": [], "benchmark": ["Benchmarks"]}.get(mode, ["Benchmarks", "Ranked Benchmark"])
    for title in titles:
        text += f"## {title}:\n```\n" + "".join(case_text(case) for case in outcome.benchmarks) + "```\n"
    if outcome.benchmarks:
        text += f"Geometric mean: {outcome.geomean_ns / NS_PER_US:.3f} µs\n"
    return text


def case_text(case: Case) -> str:
    time, error, best, worst = (ns / NS_PER_US for ns in (case.time_ns, case.error_ns, case.best_ns, case.worst_ns))
    return f"{case.spec}\n ⏱ {time:.3f} ± {error:.3f} µs\n ⚡ {best:.3f} µs 🐌 {worst:.3f} µs\n\n"


def run_and_check_text(row: dict[str, Any]) -> str:
    """Returns what KernelBench's run_and_check.py prints of one kernel. Times are means, in milliseconds."""
    passed = row["verdict"] == "passed"
    compiled = row["verdict"] not in ("build_failed", "load_failed", "rejected")
    hardware = {"hardware": row["device_model"], "device": row["device"]}

    def stats(prefix: str) -> dict[str, Any]:
        names = {"mean": "mean", "std": "std", "min": "min", "max": "max"}
        found = {name: float(f"{(row[f'{prefix}{their}_us'] or 0) / US_PER_MS:.3g}") for name, their in names.items()}
        return found | {"num_trials": row["samples_n"], **hardware}

    metadata = hardware | ({} if passed else {"kq_verdict": row["verdict"], "error": row["message"]})
    text = f"[Eval] Kernel eval result: compiled={compiled} correctness={passed} metadata={metadata}"
    if not passed or not row["samples_n"]:
        return f"{text} runtime=-1.0 runtime_stats={{}}\n"
    text += f" runtime={stats('')['mean']} runtime_stats={stats('')}\n"
    text += f"[Timing] PyTorch Reference Eager exec time: {(row['reference_mean_us'] or 0) / US_PER_MS:.3g} ms\n"
    text += f"[Timing] Custom Kernel exec time: {stats('')['mean']} ms\n"
    return text + f"[Speedup] Speedup over eager: {row['speedup_mean'] or 0:.2f}x\n"


def one_line(text: str) -> str:
    return " ".join(text.split()) or "the submission did not pass"
