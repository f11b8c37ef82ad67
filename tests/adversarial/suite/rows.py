"""Reads the rows of tests/adversarial. A row is one submission in a file whose first lines state the expected verdicts.

    # One sentence that says what the row does.
    # expect: rejected stream | passed | ...     the verdict of the whole evaluator with its reason
    # guard: RULE | review RULE | clean          what the static guard alone must report
    # run: wrong_answer value | crashed signal 9 optional: the verdicts on the CPU without the guard
    # gpu: crashed signal 9 | no                 optional: the verdicts on a GPU if they differ; no: does not run there
    # allowed: passed | wrong_answer value       optional: the verdicts on a GPU where streams and graphs are allowed
    # row: 12                                    optional: the number in the list of known attacks
    # problem: softmax                           optional: the problem in problems/; the default is relu
    # times: 2                                   optional: how often the row runs before the honest job
    # long                                       optional: the row takes more than two seconds
    # matrix: hostile: words                     optional: the line in the detection matrix (honest, hostile or policy)

C++ files have the same header after //. Files with the same stem, such as X.cu and X.json, belong together. The names
of honest rows begin with honest_, and those of correct kernels with a small mistake with mutant_; all other rows are
hostile. `harmless` stands for a hostile row that passes because its attack fails or changes nothing; if the attack
succeeded, the row would give a wrong answer.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
FOLDERS = ("clock", "cuda_api", "honest", "memory", "mutants", "output", "patching", "process", "streams")
HEADER = re.compile(r"^(?:#|//) (expect|guard|run|gpu|allowed|row|problem|times|matrix): (.+)$", re.M)
LONG = re.compile(r"^(?:#|//) long$", re.M)


@dataclass(frozen=True)
class Row:
    """A submission with its expected verdicts, as its header states them."""

    path: Path
    expect: str
    guard: str
    matrix: str = ""
    run: str = ""
    gpu: str = ""
    allowed: str = ""
    problem: str = "relu"
    times: int = 1
    is_long: bool = False

    @property
    def is_hostile(self) -> bool:
        return not self.path.name.startswith("honest_")

    @property
    def is_mutant(self) -> bool:
        return self.path.name.startswith("mutant_")

    @property
    def kind(self) -> str:
        return "mutant" if self.is_mutant else "hostile" if self.is_hostile else "honest"

    @property
    def backend(self) -> str:
        return "cuda" if self.path.suffix == ".cu" else "torch"

    def runs_on(self, device: str) -> bool:
        """Whether the row runs on the device without the guard."""
        return bool(self.run) and not (device == "cuda" and self.gpu == "no")

    def endings(self, device: str = "cpu") -> list[str]:
        """Returns the allowed verdicts of a run on the device without the guard."""
        allowed = self.gpu if device == "cuda" and self.gpu else self.run
        return ["passed" if ending == "harmless" else ending for ending in allowed.split(" | ")]

    def endings_if_allowed(self) -> list[str]:
        """Returns the allowed verdicts of a run on a GPU, with the audit, where streams and graphs are allowed."""
        return ["passed" if ending == "harmless" else ending for ending in self.allowed.split(" | ")]

    @property
    def control(self) -> Path:
        """The path of the honest submission for the same problem."""
        return FOLDER / "problems" / f"{self.problem}_right.py"


def problem_of(row: Row) -> Path:
    """Returns the path of the row's problem."""
    return FOLDER / "problems" / f"{row.problem}.py"


def rows() -> list[Row]:
    """Returns all rows in the order of their file names, whatever their folders."""
    found = []
    paths = (path for folder in FOLDERS for path in (FOLDER / folder).iterdir() if path.suffix in (".py", ".cu"))
    for path in sorted(paths, key=lambda path: path.name):
        text = path.read_text()[:2000]
        header = dict(HEADER.findall(text))
        found.append(
            Row(
                path=path,
                expect=header.get("expect", ""),
                guard=header.get("guard", ""),
                matrix=header.get("matrix", ""),
                run=header.get("run", ""),
                gpu=header.get("gpu", ""),
                allowed=header.get("allowed", ""),
                problem=header.get("problem", "relu"),
                times=int(header.get("times", "1")),
                is_long=LONG.search(text) is not None,
            )
        )
    return found


def guard_error(row: Row, findings: list[dict[str, str]]) -> str | None:
    """Returns an error text if the guard's findings in a row's file are not the expected ones, else None."""
    rejected = [one for one in findings if one["severity"] == "reject"]
    found = sorted({f"{one['severity']} {one['rule']} at line {one['line']}" for one in findings}) or ["nothing"]
    match row.guard.split():
        case ["clean"]:
            is_right = not findings
        case ["review", rule]:
            is_right = not rejected and any(one["rule"] == rule for one in findings)
        case [rule]:
            is_right = any(
                one["rule"] == rule and f"rejected {one['reason']}" in row.expect.split(" | ") for one in rejected
            )
        case _:
            return f"{row.path.name}: its header has no line guard:"
    return (
        None
        if is_right
        else f"{row.path.name}: expected '{row.guard}' ({row.expect}), the guard reports {', '.join(found)}"
    )
