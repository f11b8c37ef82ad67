"""Tests that kq compiles what torch compiles, and refuses what torch refuses, for the files in tests/builds/inline.

    python3 tests/builds/inline_test.py DIR

The outcomes below are those of torch 2.11 with CUDA 13. DIR keeps the prefixes of torch's headers for the next run. The
test needs nvcc but no GPU. It takes minutes, so that it is skipped unless KQ_HEADERS is set, as in CI.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
JOBS = 2  # builds at once, each of which takes up to 5 GiB
# By name of the file, and of the call where a file makes several: the way that builds it, or the error that is raised.
EXPECTED = {
    "fallback_at_import": "‘twice’ was not declared in this scope",
    "fallback_in_init": "redefinition of ‘PyObject* PyInit_twice_in_init()’",
    "fallback_in_forward": "DeprecatedTypeProperties",
    "not_caught": 'identifier "factor" is undefined',
    "memory": "‘twice’ was not declared in this scope",
    "host_min_and_dispatch": "‘C10_CUDA_KERNEL_LAUNCH_CHECK’ was not declared in this scope",
    "host_min_compiles": "split",
    "limits_without_includes": "split",
    "no_kernel": "split",
    "kernel_tried_in_init": "split",
    "several_modules.0": "",
    "several_modules.1": "‘rellu’ is not a member of ‘torch’",
    "several_modules.2": "",
    "load_of_written_files": "",
    "flags.0": "split",
    "flags.1": "split",
    "flags.2": "sm_70",
    "flags.3": "--no-such-flag",
    "slow_device_half": "‘how_many_values’ was not declared in this scope",
    "caught_and_slow": "expected ‘;’ before ‘}’ token",
}


def main() -> int:
    if not os.environ.get("KQ_HEADERS"):
        print("skipped: takes minutes; KQ_HEADERS=yes runs it, as CI does")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [str(ROOT / "scripts/bench"), "inline", str(ROOT / "tests/builds/inline"), "--json", str(report)]
        command += ["--jobs", str(JOBS)]
        environment = {**os.environ, "KQ_PYTHON": os.environ.get("KQ_PYTHON") or sys.executable}
        subprocess.run([*command, "--prefixes", sys.argv[1]], env=environment, check=False)
        calls = {call["name"]: call["kq"] for call in json.loads(report.read_text())["calls"]}
    problems = [problem for name, expected in EXPECTED.items() for problem in problems_of(name, expected, calls)]
    print("\n".join(problems) or f"all {len(EXPECTED)} calls end as expected")
    return 1 if problems else 0


def problems_of(name: str, expected: str, calls: dict[str, dict]) -> list[str]:
    answer = calls.get(name)
    if answer is None:
        return [f"{name}: the call was not traced"]
    is_way = expected in ("", "split")
    found = []
    if is_way and (answer["status"], answer.get("way")) != ("ok", expected):
        found.append(f"{name}: ends as {answer}, expected a module by the way {expected or 'of C++'!r}")
    if not is_way and (answer["status"] != "failed" or expected not in answer["message"]):
        found.append(f"{name}: ends as {answer}, expected the error {expected!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
