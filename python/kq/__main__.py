"""python -m kq VERB: what the C++ programs leave to Python."""

import sys

from kq import export

VERBS = {"export": export.run}


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] in VERBS:
        return VERBS[sys.argv[1]](sys.argv[2:])
    print(f"usage: python -m kq {'|'.join(VERBS)} ...; --help behind a verb says more", file=sys.stderr)
    return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2


sys.exit(main())
