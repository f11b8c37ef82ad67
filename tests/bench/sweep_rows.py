"""What the benchmarks that read a sweep's rows share: where the programs are, and the rows of one `kq sweep`."""

import csv
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 1200  # of the whole run of kq sweep


def programs_for(benchmark: str) -> Path:
    """Returns the folder of kq's programs. Ends with exit code 2 where there is none. Jobs then run under $KQ_PYTHON
    (default: python3).
    """
    for programs in (ROOT / "bin", ROOT / "build/release/bin"):
        if (programs / "kq").exists():
            os.environ.setdefault("KQ_PYTHON", "python3")
            return programs
    print(f"bench {benchmark}: no kq here; run scripts/build first", file=sys.stderr)
    sys.exit(2)


def rows_of_sweep(
    benchmark: str, programs: Path, jobs: Path, run: str, device: str, state: Path
) -> tuple[list[dict[str, str]], str]:
    """Sweeps the jobs of a file with a broker and a worker in the state folder. Returns the rows and what `kq sweep`
    said. Ends with exit code 3 where there are no rows, because this machine has no such device.
    """
    rows = state.parent / f"{run}.csv"
    command = [programs / "kq", "sweep", jobs, "--run", run, "--device", device, "--state", state, "--csv", rows]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if not rows.exists():
        print(f"bench {benchmark}: kq sweep: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(3)
    with rows.open(newline="") as source:
        return list(csv.DictReader(source)), done.stderr
