"""At most 16 ideas stand in one folder, so that the list of a folder can be read at a glance.

An idea is what one stem names: x.h, x.cc and x_test.cc (or x_gpu_test.cc) count once, and so do x.py and x_test.py.
Every other file is an idea of its own. CMakeLists.txt is not counted. Tests, test data, examples, raw runs and
numbered decisions may be many.
"""

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

from house import Case, files, run

IDEAS_MAX = 16
# bench/results holds raw runs, and docs/decisions is one numbered series.
FREE = {"tests", "testdata", "examples", "results", "decisions"}
SUFFIXES = re.compile(r"(?:_gpu_test|_test)?\.(?:h|cc|cu|py)$")


def rule(root: Path) -> list[str]:
    ideas: dict[str, set[str]] = defaultdict(set)
    for name in files(root):
        path = PurePosixPath(name)
        folder = path.parent
        if folder.parts and not FREE & set(folder.parts) and path.name != "CMakeLists.txt":
            ideas[str(folder)].add(SUFFIXES.sub("", path.name))
    return [
        f"{folder}: has {len(found)} ideas; move some to a folder of their own, {IDEAS_MAX} are the most"
        for folder, found in sorted(ideas.items())
        if len(found) > IDEAS_MAX
    ]


CASES = [
    Case("as many as may be", {f"core/idea_{n}{end}": "" for n in range(16) for end in (".h", ".cc", "_test.cc")}),
    Case("too many", {f"core/idea_{n}.h": "" for n in range(17)}, ("core: has 17 ideas; move some",)),
    Case("scripts", {f"scripts/do-{n}": "" for n in range(17)}, ("scripts: has 17 ideas",)),
    Case("folders count apart", {f"core/{n // 10}/idea_{n}.h": "" for n in range(17)}),
    Case(
        "tests are free",
        {f"tests/golden/{n}.bin": "" for n in range(17)} | {f"core/testdata/{n}": "" for n in range(17)},
    ),
    Case("CMakeLists.txt", {f"core/idea_{n}.h": "" for n in range(16)} | {"core/CMakeLists.txt": ""}),
    Case("the top is fixed", {f"{n}.md": "" for n in range(17)}),
]

if __name__ == "__main__":
    run(rule, CASES)
