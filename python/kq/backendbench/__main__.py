"""Writes the calls of a suite as a trace.

python -m kq.backendbench opinfo -o opinfo.txt
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kq.backendbench import enumeration
from kq.errors import exit_code_of
from kq.tables.partial_output import partial_file

SUITES = {"opinfo": enumeration.opinfo, "facto": enumeration.facto}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kq.backendbench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite", choices=SUITES, help="whose calls are written")
    parser.add_argument("--ops", default="", help="only these operators, joined by commas")
    parser.add_argument("--device", default="cpu", help="where the samples run (default: cpu)")
    parser.add_argument("--dtype", default="bfloat16", help="the dtype of the samples (default: bfloat16)")
    parser.add_argument("-o", "--out", default="-", help="the trace, NAME.txt (default: standard output)")
    arguments = parser.parse_args()
    ops = [op for op in arguments.ops.split(",") if op]
    found: dict[str, dict[str, int]] = {}
    for op, record in SUITES[arguments.suite](ops, arguments.device, arguments.dtype):
        of_op = found.setdefault(op, {})
        of_op[record] = of_op.get(record, 0) + 1
    lines = []
    for op in sorted(found):
        lines.append(f"Operator: aten.{op}\n")
        lines += [f"cnt: {count}, {record}\n" for record, count in found[op].items()]
    if arguments.out == "-":
        sys.stdout.write("".join(lines))
    else:
        with partial_file(Path(arguments.out)) as partial:
            partial.write_text("".join(lines))
            partial.rename(arguments.out)
    print(f"kq.backendbench: {sum(map(len, found.values()))} calls of {len(found)} operators", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of("kq.backendbench", main))
