"""The lines that an eval program writes to POPCORN_FD, and what they say.

key: value           one a line; a later line of a key counts
test-count, test.N.spec, test.N.status (pass or fail), test.N.error, test.N.message
benchmark-count, benchmark.N.spec, benchmark.N.runs, .mean, .std, .err, .best, .worst    in nanoseconds
benchmark.N.status (fail), benchmark.N.error
benchmark.N.report   base64 with the last two digits "+*" or "+/"
check                pass or fail; the exit code of a program says less
"""

import base64
import binascii
import math
from dataclasses import dataclass, field

LINES_MAX = 20_000
FIGURES = ("runs", "mean", "std", "err", "best", "worst")

Case = dict[str, object]


def parse(text: str) -> dict[str, str]:
    """Returns the values by their keys. Other text, such as further lines of a message, is left out."""
    values = {}
    for line in text.splitlines()[:LINES_MAX]:
        key, colon, value = line.partition(": ")
        if not colon and line.endswith(":"):
            key, colon = line[:-1], ":"
        if colon and key and " " not in key:
            values[key] = value
    return values


@dataclass
class Stage:
    """One run of the program: its mode, whether its seed is secret, how it ended, and its lines."""

    mode: str
    is_secret: bool = False
    exit_code: int = 0  # negative: the number of a signal
    timed_out: bool = False
    values: dict[str, str] = field(default_factory=dict)
    output: str = ""  # the end of its stdout and stderr

    @property
    def passed(self) -> bool:
        return not self.timed_out and self.values.get("check") == "pass"

    def rename_case(self, case: str, name: str) -> None:
        """Gives the values of a case to a case of another name: of "benchmark.0" to "benchmark.3"."""
        self.values = {
            name + key.removeprefix(case) if key.startswith(f"{case}.") else key: value
            for key, value in self.values.items()
        }

    def failures(self) -> list[tuple[str, str]]:
        """Returns (key of the case, error) of each case that failed: ("test.2", "mismatch found")."""
        found = []
        for key, value in self.values.items():
            case, _, name = key.rpartition(".")
            if name == "status" and value == "fail":
                found.append((case, self.values.get(f"{case}.error", "") or "the program gives no reason"))
        return found


def tests_of(stage: Stage, names: list[str]) -> list[Case]:
    """Returns the outcome of each test that the stage has finished."""
    cases: list[Case] = []
    for index, name in enumerate(names):
        status = stage.values.get(f"test.{index}.status")
        if status is not None:
            error = stage.values.get(f"test.{index}.error", "")
            cases.append({"name": name, "timed": False, "passed": status == "pass", "message": error})
    return cases


def benchmarks_of(stage: Stage, names: list[str]) -> list[Case]:
    """Returns the times of each benchmark that the stage has finished, in nanoseconds."""
    cases: list[Case] = []
    for index, name in enumerate(names):
        found = {figure: number(stage.values.get(f"benchmark.{index}.{figure}")) for figure in FIGURES}
        failed = stage.values.get(f"benchmark.{index}.status") == "fail"
        if failed:
            error = stage.values.get(f"benchmark.{index}.error", "")
            cases.append({"name": name, "timed": True, "passed": False, "message": error})
        elif found["mean"] is not None:
            figures = {figure: value for figure, value in found.items() if value is not None}
            cases.append({"name": name, "timed": True, "passed": True, "message": "", **figures})
    return cases


def number(text: str | None) -> float | None:
    """Returns a number that is finite and not negative, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def score_ns(means: list[float], ranking: str) -> float:
    """Returns the time by which a board ranks: of the last benchmark, or the arithmetic or geometric mean."""
    if ranking == "last":
        return means[-1]
    if ranking == "mean":
        return sum(means) / len(means)
    if min(means) <= 0:
        return 0.0
    return math.exp(sum(map(math.log, means)) / len(means))


def encoded(text: str) -> str:
    """Returns a text as the value of a line."""
    return base64.b64encode(text.encode()).decode()


def report_text(stage: Stage) -> str:
    """Returns the texts of the profile reports of a stage."""
    texts = []
    for key, value in stage.values.items():
        if key.endswith(".report"):
            try:
                text = base64.b64decode(value.replace("*", "/"), validate=True).decode(errors="replace")
            except (binascii.Error, ValueError):
                text = "the report is no base64"
            texts.append(f"{key}\n{text}")
    return "\n".join(texts)
