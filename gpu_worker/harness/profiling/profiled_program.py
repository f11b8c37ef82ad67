"""The program that the profiler starts: a pre-forked child (children/preforked.py) in a process of its own.

    python profiled_program.py JOB STUB

JOB is a children/job.py Job as JSON, and STUB is the path of libkqstub.so. Descriptor 3 is the channel to the judge.
"""

import json
import socket
import sys
from pathlib import Path

PROFILED_CALL = 2


def main() -> int:
    # The folder of this file is a package. A module of a job must neither be found through it nor be hidden by it.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from harness.children import preforked
    from harness.children.channel import CHANNEL_FD
    from harness.children.job import Job
    from harness.children.runtime import ChildRuntime
    from harness.zygote import imports

    job = Job.from_strings(json.loads(sys.argv[1]))
    imports.import_everything(job.device.type)
    imports.prepare_triton(job.device.type)
    submission = submission_role()
    del sys.path[0]
    preforked.serve(job, socket.socket(fileno=CHANNEL_FD), ChildRuntime(sys.argv[2]), None, {"submission": submission})
    return 0


def submission_role() -> type:
    import torch

    from harness.children.submission import Submission

    class Profiled(Submission):
        calls = 0

        def call(self) -> None:
            self.calls += 1
            if self.calls != PROFILED_CALL:
                return super().call()
            torch.cuda.profiler.start()
            try:
                super().call()
                torch.cuda.synchronize()
            finally:
                torch.cuda.profiler.stop()

    return Profiled


if __name__ == "__main__":
    sys.exit(main())
