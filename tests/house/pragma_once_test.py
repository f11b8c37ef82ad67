"""A header begins with #pragma once; only a comment may stand before it."""

import re
from pathlib import Path

from house import Case, files, run

COMMENTS = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root, ".h", ".hpp", ".cuh"):
        text = (root / path).read_text(errors="replace")
        start = COMMENTS.match(text).end()
        if not re.match(r"#pragma once\s*$", text[start:], re.MULTILINE):
            line = text.count("\n", 0, start) + 1
            complaints.append(f"{path}:{line}: comes before #pragma once; make that the first line after the comment")
    return complaints


CASES = [
    Case("first", {"core/job.h": "#pragma once\n"}),
    Case("after a comment", {"core/job.h": "// Why.\n\n/* More.\n */\n#pragma once\n"}),
    Case(
        "guard macro",
        {"core/job.h": "// Why.\n#ifndef JOB_H\n#define JOB_H\n#endif\n"},
        ("core/job.h:2: comes before",),
    ),
    Case("include first", {"core/job.h": "#include <vector>\n#pragma once\n"}, ("core/job.h:1: comes before",)),
    Case("none", {"core/job.h": "// Why.\n"}, ("core/job.h:2: comes before",)),
]

if __name__ == "__main__":
    run(rule, CASES)
