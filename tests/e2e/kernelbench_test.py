"""Tests that ten KernelBench problems pass if each problem's own Model is submitted as ModelNew.

KQ_KERNELBENCH names the folder that holds level1, level2 and level3. The ten problems need up to 4 GiB of memory and
about a minute on two cores.
"""

import os
import re
import unittest
from pathlib import Path

import kq

KERNELBENCH = os.environ.get("KQ_KERNELBENCH", "")
FILES = {3: (4, 9, 23, 24, 28, 32, 34, 36, 39, 40)}


@unittest.skipUnless(KERNELBENCH, "skipped: KQ_KERNELBENCH does not name a KernelBench checkout")
class KernelBench(kq.EndToEndTest):
    def write_run(self) -> Path:
        run = self.folder / "runs" / "own"
        run.mkdir(parents=True)
        for level, problems in FILES.items():
            for problem in problems:
                (source,) = Path(KERNELBENCH, f"level{level}").glob(f"{problem}_*.py")
                kernel = re.sub(r"\bModel\b", "ModelNew", source.read_text())
                (run / f"level_{level}_problem_{problem}_sample_0_kernel.py").write_text(kernel)
        return run

    def test_models_pass_against_themselves(self) -> None:
        done = kq.kq("sweep", self.write_run(), "--problems", KERNELBENCH, "--state", self.state)
        self.assert_end(done, 0)
        self.assertIn("10 of 10 problems solved", done.stdout)


if __name__ == "__main__":
    unittest.main()
