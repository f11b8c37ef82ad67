"""Measures how much the sandbox delays the start of a job.

    scripts/bench sandbox [--children N] [--json FILE]

The benchmark forks N children (default 100) of zygotes that have imported torch and triton, in turn with every layer
that this machine supports, with every layer but control groups, and without any layer. The measured time is from the
order until the child reports that it is inside the sandbox, which is when the code of a job may run. Then the child is
killed, and the end of the child is not measured. No job waits for that long, because children are forked ahead of jobs.
The benchmark runs in a checkout that has been built, with the Python that scripts/setup has made. Exit code 2: nothing
is built.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
STUB = ROOT / "build/release/lib/kq/libkqstub.so"
# The pause between two starts is as long as a short job. On an idle machine the kernel takes longer to move a process
# into a control group.
PAUSE_S = 0.1
ALL, NO_GROUPS, NONE = "every layer", "without control groups", "none"
WARM = 30  # first children that do not count, because the zygote moves its memory into huge pages meanwhile

# This file replaces zygote/main.py and starts a zygote without sandbox layers, for which workers have no option.
BARE = f"""
import sys
sys.path[0] = {str(ROOT / "gpu_worker")!r}
from harness.sandbox import sandbox
from harness.zygote import fork_server
from harness.zygote import main as zygote
zygote.set_environment("cpu")
sandbox.ALL_LAYERS = 0
fork_server.main(zygote.CONTROL_FD, "cpu", {str(STUB)!r}, with_cgroups=False)
"""


def start_ms(zygote: Any, directory: Path) -> float:
    """Starts a child; returns the milliseconds until its job's code may run."""
    null = os.open("/dev/null", os.O_RDWR)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    uid = 65534 if os.geteuid() == 0 else 0
    order = {"role": "ready", "device": "cpu", "dir": str(directory), "uid": uid, "scratch_bytes": 64 << 20}
    start = time.perf_counter()
    number = zygote.send(order, [null, theirs.fileno()])
    answer = zygote.await_packet(lambda packet: packet.get("id") == number)
    took_ms = (time.perf_counter() - start) * 1e3
    if "error" in answer:
        sys.exit(f"bench sandbox: {answer['error']}")
    os.kill(answer["pid"], signal.SIGKILL)
    zygote.exit_of(number)
    os.close(null)
    theirs.close()
    ours.close()
    return took_ms


def measured(directory: Path, children: int) -> tuple[str, dict[str, list[float]]]:
    """Returns the names of the layers, and the start times in milliseconds of the children of each kind."""
    sys.path[:0] = [str(ROOT / "gpu_worker"), str(ROOT / "gpu_worker/harness/tests")]
    os.environ["KQ_TEST_STUB"] = str(STUB)
    from world import Zygote

    python = subprocess.run(
        [ROOT / "scripts/setup", "--print-python"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (directory / "zygote").mkdir()
    (directory / "zygote/main.py").write_text(BARE)
    zygotes = {
        ALL: Zygote(python),
        NO_GROUPS: Zygote(python, more=("--without-cgroups",)),
        NONE: Zygote(python, harness=directory),
    }
    for zygote in zygotes.values():
        if "error" in zygote.hello:
            sys.exit(f"bench sandbox: {zygote.hello['error']}")
    for zygote in zygotes.values():
        for _ in range(WARM):
            start_ms(zygote, directory)
    times: dict[str, list[float]] = {name: [] for name in zygotes}
    for _ in range(children):
        for name, zygote in zygotes.items():
            times[name].append(start_ms(zygote, directory))
            time.sleep(PAUSE_S)
    layers = zygotes[ALL].hello["sandbox"]
    for zygote in zygotes.values():
        zygote.close()
    return layers, times


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench sandbox", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--children", metavar="N", type=int, default=100, help="children of each kind (default: 100)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every time to FILE, in milliseconds")
    options = parser.parse_args()
    if options.children < 2:
        parser.error("--children must be at least 2")
    if not STUB.exists():
        print("bench sandbox: no child runtime here; run scripts/build first", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="kq-sandbox.") as folder:
        directory = Path(folder)
        directory.chmod(0o755)
        for name in ("src", "work", "out"):
            (directory / name).mkdir()
        layers, times = measured(directory, options.children)

    print(f"layers: {layers}\n\n| sandbox | median ms | p95 ms |\n|---|---|---|")
    for name, all_ms in times.items():
        print(f"| {name} | {statistics.median(all_ms):.2f} | {statistics.quantiles(all_ms, n=20)[-1]:.2f} |")
    medians = {name: statistics.median(all_ms) for name, all_ms in times.items()}
    print(
        f"\nthe sandbox without control groups adds {medians[NO_GROUPS] - medians[NONE]:.1f} ms (target: 5), "
        f"control groups add {medians[ALL] - medians[NO_GROUPS]:.1f} ms"
    )
    if options.json:
        options.json.write_text(json.dumps({"layers": layers, "ms": times}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
