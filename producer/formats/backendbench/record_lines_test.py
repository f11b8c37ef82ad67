"""Tests that kq reads records of calls as Python itself does.

    record_lines_test.py PROGRAM

10,000 generated records are evaluated by Python with the names that BackendBench gives them, and are read by the
parsers in C++ (PROGRAM) and in Python (kq.backendbench.record). All three must agree. KQ_RECORDS is another number.
"""

import json
import math
import os
import random
import subprocess
import sys
from typing import Any

from kq.backendbench import record
from kq.errors import BadInput

COUNT = int(os.environ.get("KQ_RECORDS", "10000"))
DEPTH = 3
TORCH_NAMES = ("float16", "bfloat16", "strided", "channels_last", "contiguous_format", "int64")
NAMES = ("dtype", "dim", "alpha", "memory_format", "out", "_x1")
TEXTS = ("mean", "a b", "it's", 'say "x"', "tab\t", "line\n", "é", "back\\slash", "", "torch", "f32x")


class Torch:
    """Stands for torch in evaluated records."""

    def __getattr__(self, name: str) -> Any:
        return {"torch": name}

    @staticmethod
    def device(kind: str, index: int | None = None) -> Any:
        return {"device": kind} if index is None else {"device": kind, "index": index}


def tensor(shape: list[int], dtype: Any, strides: list[int] | None = None, device: Any = None) -> Any:
    made = {"tensor": shape, "dtype": dtype["torch"]}
    return made if strides is None else made | {"strides": strides}


WORLD = {"T": tensor, "torch": Torch(), "th": Torch(), "inf": math.inf}
WORLD |= {short: {"torch": name} for short, name in record.DTYPES.items()}


def plain(value: Any) -> Any:
    """Returns an evaluated value in the form of the parsers."""
    if isinstance(value, dict):
        return value
    if isinstance(value, float) and math.isinf(value):
        return {"number": "inf" if value > 0 else "-inf"}
    if isinstance(value, list):
        return {"list": [plain(one) for one in value]}
    return {"tuple": [plain(one) for one in value]} if isinstance(value, tuple) else value


class Generator:
    """Draws records of every kind of value, in every spelling."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def record(self) -> str:
        values = [self._value(DEPTH) for _ in range(self._random.randrange(5))]
        named = [f"{self._quoted(name)}{self._blank()}: {self._value(DEPTH)}" for name in self._some(NAMES)]
        commas = "," if len(values) == 1 or (values and self._random.random() < 0.5) else ""
        tail = "," if named and self._random.random() < 0.3 else ""
        return f"(({', '.join(values)}{commas}),{self._blank()}{{{', '.join(named)}{tail}}})"

    def _some(self, words: tuple[str, ...]) -> list[str]:
        return self._random.sample(words, self._random.randrange(3))

    def _blank(self) -> str:
        return self._random.choice(("", "", " ", "  "))

    def _quoted(self, text: str) -> str:
        is_plain = text.isprintable() and not set(text) & set('"\\')
        return f'"{text}"' if is_plain and self._random.random() < 0.5 else repr(text)

    def _sizes(self, count: int) -> str:
        return str([self._random.choice((0, 1, 2, 3, 64, 1000)) for _ in range(count)])

    def _tensor(self) -> str:
        count = self._random.randrange(5)
        strides = f", {self._sizes(count)}" if self._random.random() < 0.3 else ""
        device = self._random.choice(("", "", "", ", device='cuda:0'", ", device=torch.device('cuda', 1)"))
        return f"T({self._sizes(count)},{self._blank()}{self._random.choice(list(record.DTYPES))}{strides}{device})"

    def _number(self) -> str:
        whole = self._random.randrange(-(10**6), 10**6)
        real = self._random.choice((0.0, 1.5, -2.25, 1e-05, 1e300, -1e-300, 3.14159265358979))
        return self._random.choice((repr(whole), repr(real), f"+{abs(whole)}", "1.", ".5", "1E3", "-0", "-0.0", "007."))

    def _value(self, depth: int) -> str:
        kinds = ["tensor", "number", "number", "text", "word", "dtype", "torch", "device"]
        kind = self._random.choice(kinds + (["list", "tuple", "inside"] if depth > 0 else []))
        if kind == "tensor":
            return self._tensor()
        if kind == "number":
            return self._number()
        if kind == "text":
            return self._quoted(self._random.choice(TEXTS))
        if kind == "word":
            return self._random.choice(("True", "False", "None", "inf", "-inf", "+inf"))
        if kind == "dtype":
            return self._random.choice(list(record.DTYPES))
        if kind == "torch":
            return f"{self._random.choice(('torch', 'th'))}.{self._random.choice(TORCH_NAMES)}"
        if kind == "device":
            return self._random.choice(("torch.device('cuda')", 'torch.device("cpu")', "torch.device('cuda', 3)"))
        parts = [self._value(depth - 1) for _ in range(self._random.randrange(4))]
        if kind == "inside":
            return f"({self._value(depth - 1)})"
        if kind == "list":
            return f"[{', '.join(parts)}{',' if parts and self._random.random() < 0.3 else ''}]"
        return f"({', '.join(parts)}{',' if parts else ''})"


def main() -> int:
    records = [Generator(seed).record() for seed in range(COUNT)]
    output = subprocess.run([sys.argv[1]], input="\n".join(records) + "\n", text=True, capture_output=True, check=True)
    lines = output.stdout.splitlines()
    wrong = [] if len(lines) == COUNT else [f"the program answered {len(lines)} of {COUNT} lines"]
    for text, line in zip(records, lines):
        positional, named = eval(text, WORLD)  # the records are those of this file
        expected = [[plain(value) for value in positional], {name: plain(value) for name, value in named.items()}]
        try:
            in_python = list(record.parse(text))
        except BadInput as error:
            in_python = [str(error)]
        in_cpp = line if line.startswith("error: ") else json.loads(line)
        if repr(in_cpp) != repr(expected) or repr(in_python) != repr(expected):
            wrong.append(f"{text}\n  Python's eval: {expected}\n  C++: {in_cpp}\n  kq.backendbench: {in_python}")
    print("\n".join(wrong[:10]) or f"{COUNT} records are read alike")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
