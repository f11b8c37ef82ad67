"""Tests what a profile child leaves in out/, with a shell script in place of ncu, which needs a GPU;
tests/gpu/profile_gpu_test uses the real one.
"""

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

from harness.children.job import Job
from harness.profiling import profile_child

RECORDED = Path(__file__).with_name("ncu_raw.csv")
# A script that prints its arguments, runs the program to profile, and writes a report only if it is allowed to.
NCU = """#!/bin/sh
echo "$@" >> {folder}/asked
case $1 in
  --version) printf 'NVIDIA (R) Nsight Compute\\nVersion 2025.3.1.0 (build 1) (public-release)\\n'; exit ;;
  --query-metrics) printf 'Device NVIDIA H100\\n\\ndram__throughput  DRAM throughput\\n'; exit ;;
  --import) case $* in *raw*) cat {recorded} ;; *) echo details ;; esac; exit ;;
esac
while [ "$1" != --export ]; do
  [ "$1" = --log-file ] && log=$2
  shift
done
{ending}
"""


class Profile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_with(self, ending: str) -> dict:
        ncu = self.folder / "ncu"
        ncu.write_text(NCU.format(folder=self.folder, recorded=RECORDED, ending=ending))
        ncu.chmod(0o755)
        job = Job.from_order(
            {"role": "profile", "device": "cuda", "backend": "cuda", "profiler": str(ncu)}, *[self.folder] * 3
        )
        self.assertEqual(profile_child.run(job, "stub", "launcher"), 0)
        return json.loads((self.folder / "metrics.json").read_text())

    def test_a_report_is_read_by_ncu_itself(self) -> None:
        told = self.run_with('echo report > "$2"')
        self.assertEqual((told["tool"], told["message"], len(told["kernels"])), ("ncu 2025.3.1.0", "", 2))
        self.assertEqual((self.folder / "details.txt").read_text(), "details\n")
        self.assertEqual((self.folder / "metrics.csv").read_bytes(), RECORDED.read_bytes())

    def test_only_metrics_that_this_ncu_knows_are_asked_for(self) -> None:
        self.run_with(":")
        asked = next(line for line in (self.folder / "asked").read_text().splitlines() if "--metrics" in line).split()
        self.assertEqual(asked[asked.index("--metrics") + 1], "dram__throughput.avg.pct_of_peak_sustained_elapsed")
        self.assertEqual(asked[-3:], ["launcher", str(self.folder), "--profiled"])

    def test_its_own_complaint_is_the_message(self) -> None:
        told = self.run_with("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > \"$log\"; exit 1")
        self.assertEqual(
            (told["message"], told["kernels"]), ("ERR_NVGPUCTRPERM - The user does not have permission", [])
        )

    def test_without_one_it_is_how_it_ended(self) -> None:
        self.assertEqual(self.run_with("exit 9")["message"], "ncu ended with 9 and saw no kernel")


class Words(unittest.TestCase):
    def test_a_job_comes_back_from_them_as_it_was(self) -> None:
        order = {"role": "profile", "device": "cuda", "arch": "sm_90", "backend": "torch", "profiler": "/bin/ncu"}
        job = Job.from_order(order, Path("/kq/src"), Path("/kq/work"), Path("/kq/out"))
        words = json.loads(json.dumps(job.as_strings()))
        self.assertEqual(Job.from_strings(words), dataclasses.replace(job, backend="", profiler=""))


if __name__ == "__main__":
    unittest.main()
