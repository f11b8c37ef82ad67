"""A submission under a profiler: a ready child (ready.py) in a process of its own, started by the profiler that profile.py started.

python profiled.py JOB STUB      JOB is a role.Job as JSON; the judge's channel is descriptor 3
"""

import json
import socket
import sys
from pathlib import Path

PROFILED_CALL = 2


def main() -> int:
    # This file's directory is a package, and no module of a job may be found, or hidden, through it.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from harness.children import preforked
    from harness.children.channel import CHANNEL_FD
    from harness.children.job import Job
    from harness.children.runtime import ChildRuntime
    from harness.zygote import fork_server

    job = Job.from_words(json.loads(sys.argv[1]))
    fork_server.import_everything(job.device.type)
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
