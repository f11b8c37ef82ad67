"""The command line `python -m kq VERB`, for commands that need a Python library. The C++ programs have all others."""

import sys

from kq import export, mcp

VERBS = {"export": export.run, "mcp": mcp.run}


def main() -> int:
    """Runs the verb and returns its exit code, or 2 for an unknown verb."""
    if len(sys.argv) > 1 and sys.argv[1] in VERBS:
        return VERBS[sys.argv[1]](sys.argv[2:])
    print(f"usage: python -m kq {'|'.join(VERBS)} ...; VERB --help prints the options of a verb", file=sys.stderr)
    return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2


sys.exit(main())
