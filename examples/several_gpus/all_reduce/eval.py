"""Calls, checks and times a submission on several GPUs, in the form that GPU MODE's problems have:

    POPCORN_FD=3 POPCORN_GPUS=2 python eval.py test|benchmark|leaderboard|profile CASES

CASES has one case a line, "world_size: 2; size: 16; seed: 1". The findings are lines "key: value" on the descriptor.
Each rank is a process with its own GPU, and the ranks talk over NCCL. Without a GPU they are processes on the CPU, and
talk over Gloo.
"""

import base64
import math
import multiprocessing
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, TextIO

CALLS, WRONG, NO_DESCRIPTOR, BAD_CASE = 20, 112, 111, 113
SEED_STEP = 13
LIMIT_S = 100

Case = dict[str, int]
Found = str | dict[str, Any]  # what is wrong, or the figures of a right case


def main() -> int:
    if "POPCORN_FD" not in os.environ:
        return NO_DESCRIPTOR
    mode, file = sys.argv[1:]
    secret = os.environ.pop("POPCORN_SEED", "")
    lines = [line for line in Path(file).read_text().splitlines() if line]
    try:
        cases = [{key.strip(): int(value) for key, value in (part.split(":") for part in line.split(";"))} for line in lines]
    except ValueError as error:
        print(f"a case cannot be read: {error}", file=sys.stderr)
        return BAD_CASE
    for case in cases if secret else []:
        case["seed"] += 1_000_003 * int(secret)
    fd = int(os.environ["POPCORN_FD"])
    os.set_inheritable(fd, False)
    kind = "test" if mode == "test" else "benchmark"
    ranks = int(os.environ.get("POPCORN_GPUS", "1"))
    # NVLink multicast needs a fabric that not every machine sets up, and no case here is large enough to gain by it.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    with os.fdopen(fd, "w", buffering=1) as out, multiprocessing.get_context("spawn").Pool(ranks) as pool:
        print(f"{kind}-count: {len(cases)}", file=out)
        passed = True
        for index, case in enumerate(cases):
            name = f"{kind}.{index}"
            print(f"{name}.spec: {lines[index]}", file=out)
            port = free_port()
            waiting = [pool.apply_async(run, (mode, case, rank, port)) for rank in range(case["world_size"])]
            passed = report(out, name, [one.get(LIMIT_S) for one in waiting], kind == "test") and passed
        print(f"check: {'pass' if passed else 'fail'}", file=out)
    return 0 if passed else WRONG


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def report(out: TextIO, name: str, found: list[Found], is_test: bool) -> bool:
    """Writes what one case has shown on all ranks."""
    wrong = [f"rank {rank}: {one}" for rank, one in enumerate(found) if isinstance(one, str)]
    if wrong or isinstance(found[0], str):
        print(f"{name}.status: fail\n{name}.error: {'; '.join(wrong)}", file=out)
        return False
    for key, value in ({"status": "pass"} if is_test else found[0]).items():
        print(f"{name}.{key}: {value}", file=out)
    return True


def run(mode: str, case: Case, rank: int, port: int) -> Found:
    """Runs one case as one rank."""
    # Only the pool's processes import these: the submission runs there, and importing torch takes seconds.
    import torch
    import torch.distributed as dist
    from reference import device_of

    address = f"tcp://127.0.0.1:{port}"
    if torch.cuda.is_available():
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", address, rank=rank, world_size=case["world_size"], device_id=device_of(rank))
    else:
        dist.init_process_group("gloo", address, rank=rank, world_size=case["world_size"])
    try:
        if mode == "test":
            return call(case, rank)[0] or {}
        return profile(case, rank) if mode == "profile" else benchmark(case, rank, mode == "leaderboard")
    finally:
        dist.destroy_process_group()


def call(case: Case, rank: int) -> tuple[str, float]:
    """Returns what is wrong with the output of one call, and the time until all ranks have it, in nanoseconds."""
    import torch.distributed as dist
    from reference import check_implementation, generate_input
    from submission import custom_kernel

    data = generate_input(rank=rank, **case)
    kept = data.clone()
    settle()
    dist.barrier()
    start = time.perf_counter_ns()
    output = custom_kernel(data)
    settle()
    dist.barrier()
    ns = time.perf_counter_ns() - start
    is_right, message = check_implementation(kept, output)
    return "" if is_right else message or "the output is wrong", ns


def settle() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def benchmark(case: Case, rank: int, has_new_seeds: bool) -> Found:
    # Every rank makes every call, right or wrong, because the others wait for it.
    case = dict(case)
    found = []
    for _ in range(CALLS):
        found.append(call(case, rank))
        case["seed"] += SEED_STEP if has_new_seeds else 0
    if wrong := [message for message, _ns in found if message]:
        return wrong[0]
    times = [ns for _message, ns in found]
    mean = sum(times) / len(times)
    std = math.sqrt(sum((ns - mean) ** 2 for ns in times) / (len(times) - 1))
    figures = {"runs": len(times), "mean": mean, "std": std, "err": std / math.sqrt(len(times))}
    return figures | {"best": float(min(times)), "worst": float(max(times))}


def profile(case: Case, rank: int) -> Found:
    import torch

    with torch.profiler.profile() as seen:
        wrong, _ns = call(case, rank)
    table = seen.key_averages().table(row_limit=5)
    return wrong or {"report": base64.b64encode(table.encode(), b"+*").decode()}


if __name__ == "__main__":
    sys.exit(main())
