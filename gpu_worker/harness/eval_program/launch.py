"""Runs a Python program in this process, with a secret seed in its environment.

    python launch.py PROGRAM MODE CASES        the seed is a line of stdin; an empty line: there is none

The program runs as `python PROGRAM MODE CASES` would run it. The seed would otherwise be in the start environment of
the process, /proc/PID/environ, which a submission in another process of the same user can read. The process cannot be
inspected either.
"""

import ctypes
import os
import runpy
import sys

PR_SET_DUMPABLE = 4


def main() -> None:
    seed = sys.stdin.readline().strip()
    if seed:
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        os.environ["POPCORN_SEED"] = seed
    del sys.argv[0]
    sys.path[0] = os.getcwd()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
