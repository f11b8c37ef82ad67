"""The rows of tests/adversarial: one file each, whose first lines say what must come of it.

    # What it does, in a sentence.
    # expect: rejected stream | passed | ...     the verdict of the whole evaluator, with its reason
    # guard: RULE | review RULE | clean          what the static guard alone must say
    # row: 12                                    optional: the name it has in the list of known attacks
    # matrix: hostile: words                     optional: its line in the detection matrix (honest, hostile or policy)

C++ files have the same behind //. Files of one stem belong together: X.cu and X.json.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
HEADER = re.compile(r"^(?:#|//) (expect|guard|row|matrix): (.+)$", re.M)


@dataclass(frozen=True)
class Row:
    path: Path
    expect: str
    guard: str
    matrix: str = ""

    @property
    def is_hostile(self) -> bool:
        return self.expect.startswith("rejected")


def rows() -> list[Row]:
    found = []
    for path in sorted(FOLDER.iterdir()):
        if path.suffix not in (".py", ".cu"):
            continue
        said = dict(HEADER.findall(path.read_text()[:2000]))
        found.append(Row(path, said.get("expect", ""), said.get("guard", ""), said.get("matrix", "")))
    return found


def complaint(row: Row, findings: list[dict[str, str]]) -> str | None:
    """What is wrong with what the guard found in a row's file."""
    rejected = [one for one in findings if one["severity"] == "reject"]
    told = sorted({f"{one['severity']} {one['rule']} at line {one['line']}" for one in findings}) or ["nothing"]
    match row.guard.split():
        case ["clean"]:
            is_right = not findings
        case ["review", rule]:
            is_right = not rejected and any(one["rule"] == rule for one in findings)
        case [rule]:
            is_right = any(one["rule"] == rule and row.expect == f"rejected {one['reason']}" for one in rejected)
        case _:
            return f"{row.path.name}: its header has no guard: line"
    return None if is_right else f"{row.path.name}: must be '{row.guard}' ({row.expect}), the guard says {', '.join(told)}"
