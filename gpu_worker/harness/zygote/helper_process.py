"""A process that the zygote forks to help itself, and not for a job."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with(zygote: int) -> None:
    """Lets the kernel end this process when the zygote ends, of which this is the process id. Ends this process at once
    if the zygote has ended already.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != zygote:
        os._exit(1)
