"""Calls, checks and times a submission to one of these problems, in the form that GPU MODE's problems have:

    POPCORN_FD=3 python eval.py test|benchmark|leaderboard|profile CASES

CASES has one case a line, "size: 16; seed: 1". The findings are lines "key: value" on the descriptor. The submission
runs in a process of its own, which does not see POPCORN_SEED. With POPCORN_NCU=1 the program runs under ncu, which
profiles the kernels of the NVTX range "custom_kernel".
"""

import base64
import math
import multiprocessing
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TextIO

CALLS, WRONG, NO_DESCRIPTOR, BAD_CASE = 20, 112, 111, 113
SEED_STEP = 13

Case = dict[str, Any]


def main() -> int:
    if "POPCORN_FD" not in os.environ:
        return NO_DESCRIPTOR
    mode, file = sys.argv[1:]
    secret = os.environ.pop("POPCORN_SEED", "")
    lines = [line for line in Path(file).read_text().splitlines() if line]
    try:
        cases = [parse(line) for line in lines]
    except ValueError as error:
        print(f"a case cannot be read: {error}", file=sys.stderr)
        return BAD_CASE
    for case in cases if secret else []:
        case["seed"] = int(case["seed"]) + 1_000_003 * int(secret)
    fd = int(os.environ["POPCORN_FD"])
    os.set_inheritable(fd, False)
    with os.fdopen(fd, "w", buffering=1) as out, multiprocessing.get_context("spawn").Pool(1) as pool:
        runs = {"test": test, "benchmark": benchmark, "leaderboard": benchmark, "profile": profile}
        passed = True
        print(f"{'test' if mode == 'test' else 'benchmark'}-count: {len(cases)}", file=out)
        for index, case in enumerate(cases):
            name = f"{'test' if mode == 'test' else 'benchmark'}.{index}"
            print(f"{name}.spec: {lines[index]}", file=out)
            found = pool.apply(runs[mode], (case, mode == "leaderboard"))
            passed = report(out, name, found, mode == "test") and passed
        print(f"check: {'pass' if passed else 'fail'}", file=out)
    return 0 if passed else WRONG


def parse(line: str) -> Case:
    case: Case = {}
    for part in line.split(";"):
        key, _, value = part.partition(":")
        if not key.strip().isidentifier() or not value.strip():
            raise ValueError(repr(part))
        case[key.strip()] = int(value) if value.strip().lstrip("+-").isdigit() else value.strip()
    return case


def report(out: TextIO, name: str, found: str | dict[str, Any], is_test: bool) -> bool:
    """Writes what one case has shown; a text says what is wrong."""
    if isinstance(found, str):
        print(f"{name}.status: fail\n{name}.error: {found}", file=out)
        return False
    for key, value in ({"status": "pass"} if is_test else found).items():
        print(f"{name}.{key}: {value}", file=out)
    return True


def call(case: Case, within: AbstractContextManager[object] = nullcontext()) -> tuple[str, float]:
    """Returns what is wrong with the output of one call, and the time of the call in nanoseconds."""
    # Only the pool's process imports these: the submission runs there, and importing torch takes seconds.
    import torch
    from reference import check_implementation, generate_input
    from submission import custom_kernel

    data = generate_input(**case)
    kept = tuple(one.clone() if isinstance(one, torch.Tensor) else one for one in data)
    settle()
    start = time.perf_counter_ns()
    with within:
        output = custom_kernel(data)
        settle()
    ns = time.perf_counter_ns() - start
    is_right, message = check_implementation(kept, output)
    return "" if is_right else message or "the output is wrong", ns


def settle() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def test(case: Case, _: bool) -> str | dict[str, Any]:
    wrong, _ns = call(case)
    return wrong or {}


def benchmark(case: Case, has_new_seeds: bool) -> str | dict[str, Any]:
    times = []
    for _ in range(CALLS):
        wrong, ns = call(case)
        if wrong:
            return wrong
        times.append(ns)
        if has_new_seeds:
            case["seed"] += SEED_STEP
    mean = sum(times) / len(times)
    std = math.sqrt(sum((ns - mean) ** 2 for ns in times) / (len(times) - 1))
    figures = {"runs": len(times), "mean": mean, "std": std, "err": std / math.sqrt(len(times))}
    return figures | {"best": float(min(times)), "worst": float(max(times))}


def profile(case: Case, _: bool) -> str | dict[str, Any]:
    import torch

    if os.environ.get("POPCORN_NCU"):
        wrong, _ns = call(case, torch.cuda.nvtx.range("custom_kernel"))
        return wrong or {"report": ""}
    with torch.profiler.profile() as seen:
        wrong, _ns = call(case)
    table = seen.key_averages().table(row_limit=5)
    return wrong or {"report": base64.b64encode(table.encode(), b"+*").decode()}


if __name__ == "__main__":
    sys.exit(main())
