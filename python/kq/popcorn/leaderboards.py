"""The leaderboards of a checkout of problems in GPU MODE's form."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kq.errors import BadInput

FOLDERS_DEPTH_MAX = 4  # of a problem below the checkout, as for kq submit
ITEM = re.compile(r"^\s*-\s", re.M)
KEY = re.compile(r"""(?:^|[{,])\s*(name|directory):[ ]*(?:"([^"]*)"|'([^']*)'|([^\s"'#][^,}#\n]*))""", re.M)


def leaderboards_in(checkout: str | Path) -> list[str]:
    """Returns the sorted names of the leaderboards: those of the sets, and the folders of problems that no set has.

    The names are for error texts. kq submit alone decides which leaderboard a name means, since this function reads
    only such YAML as GPU MODE's sets have: a list of maps, with a key and its plain value on each line.
    """
    root = Path(checkout)
    problems = root / "problems" if (root / "problems").is_dir() else root
    names: set[str] = set()
    named: set[str] = set()  # folders that a set has
    for path in problems.glob("*.yaml"):
        for item in items_of(path.read_text(errors="replace")):
            if "name" in item and "directory" in item:
                names.add(item["name"])
                named.add(os.path.normpath(problems / item["directory"]))
    for place, folders, files in os.walk(problems):
        is_deepest = len(Path(place).relative_to(problems).parts) == FOLDERS_DEPTH_MAX
        folders[:] = [] if is_deepest else [folder for folder in folders if not folder.startswith(".")]
        if "task.yml" in files and os.path.normpath(place) not in named:
            names.add(Path(place).resolve().name)
    return sorted(names, key=str.lower)


def items_of(text: str) -> list[dict[str, str]]:
    """Returns the names and directories in the list `problems` of a set."""
    _, _, problems = text.partition("\nproblems:")
    block = re.split(r"^[^\s#-]", problems, maxsplit=1, flags=re.M)[0]  # the list ends where another key begins
    return [
        {key: (double or single or plain).strip() for key, double, single, plain in KEY.findall(item)}
        for item in ITEM.split(block)[1:]
    ]


def spelled_unlike_a_path(name: str) -> str:
    """Returns the name in letters of such a case that no path of the current folder has it.

    kq submit takes a path of this name for the problem, before it looks for a leaderboard. It finds leaderboards in
    any case of letters.
    """
    swapped = "".join(letter.swapcase() if letter.isascii() else letter for letter in name)
    for one in (name, swapped):
        if not Path(one).exists():
            return one
    raise BadInput(f"{name} is a path in the current folder, and would be read in place of the leaderboard {name}")
