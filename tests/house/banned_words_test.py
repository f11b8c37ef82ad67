"""The words of banned_words.txt stand nowhere: code and documents use the words of the field (docs/glossary.md)."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from house import Case, files, lines, run

BANNED = "tests/house/banned_words.txt"
ALLOWED = "tests/house/allowed_words.txt"
SUFFIXES = (".cc", ".h", ".cu", ".py", ".sh", ".cmake", ".md", ".toml", "CMakeLists.txt")
FOLDERS = ("scripts/", ".ci/")
DATA = ("examples/", "tests/adversarial/", "tests/golden/", "tests/fuzz/corpus/", "tests/house/banned_words_test.py")
NAME = re.compile(r"\w+(?:-\w+)*")
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

Banned = list[tuple[str, str, str, re.Pattern[str]]]  # kind, pattern, what to write instead, compiled


def rule(root: Path) -> list[str]:
    banned, allowed = banned_words(root), allowed_names(root)
    any_banned = re.compile("|".join(f"(?:{pattern.pattern})" for *_, pattern in banned))
    complaints = []
    for path in files(root):
        if path.startswith(DATA) or not path.endswith(SUFFIXES) and not path.startswith(FOLDERS):
            continue
        names_allowed = {name for glob, name in allowed if fnmatchcase(path, glob)}
        if "*" in names_allowed:
            continue
        for number, line in lines(root, path):
            if any_banned.search(words_of(line)):
                complaints += [f"{path}:{number}: {found}" for found in found_in(line, banned, names_allowed)]
    return complaints


def found_in(line: str, banned: Banned, allowed: set[str]) -> list[str]:
    names = [match.group() for match in NAME.finditer(line) if match.group() not in allowed]
    complaints = []
    for kind, word, instead, pattern in banned:
        for name in names:
            words = words_of(name)
            if pattern.search(words) and (kind == "word" or " " in words):
                complaints.append(f"says '{name}'; the word for '{word}' is: {instead}")
                break
    return complaints


def words_of(text: str) -> str:
    """The words of a text in small letters, with names split into theirs."""
    return CAPITAL.sub(" ", text).replace("_", " ").replace("-", " ").lower()


def banned_words(root: Path) -> Banned:
    found = []
    for _, line in lines(root, BANNED):
        if line.strip() and not line.startswith("#"):
            said, _, instead = line.partition("=")
            kind, _, word = said.strip().partition(" ")
            pattern = r"\s".join(re.escape(part).replace(r"\*", r"\w*") for part in word.split())
            found.append((kind, word, instead.strip(), re.compile(rf"\b{pattern}\b")))
    return found


def allowed_names(root: Path) -> list[tuple[str, str]]:
    if not (root / ALLOWED).exists():
        return []
    rows = [line.split(maxsplit=2) for _, line in lines(root, ALLOWED) if line.strip() and not line.startswith("#")]
    return [(glob, name) for glob, name, _ in rows]


def tree(**more: str) -> dict[str, str]:
    return {BANNED: "# why\nword undertaker* = reaper\nname stand in* = placeholder\nname * n = *_count\n"} | {
        path.replace("__", "/").replace("_dot_", "."): text for path, text in more.items()
    }


CASES = [
    Case("none", tree(core__a_dot_h="int reaper; // stand in a row\nint n;\n")),
    Case(
        "a comment",
        tree(core__a_dot_h="\n// The Undertakers come.\n"),
        ("core/a.h:2: says 'Undertakers'; the word for 'undertaker*' is: reaper",),
    ),
    Case("a name", tree(core__a_dot_cc="int kStandIn; int stand_in_2;"), ("core/a.cc:1: says 'kStandIn'",)),
    Case(
        "the end of a name", tree(a_dot_py="jobs_n = 1\n"), ("a.py:1: says 'jobs_n'; the word for '* n' is: *_count",)
    ),
    Case("documents and scripts", tree(a_dot_md="undertaker", scripts__x="undertaker"), ("a.md:1", "scripts/x:1")),
    Case("allowed", tree(core__a_dot_cc="int jobs_n;") | {ALLOWED: "core/* jobs_n is a column\n"}),
    Case(
        "allowed elsewhere",
        tree(core__a_dot_cc="int jobs_n;") | {ALLOWED: "net/* jobs_n is a column\n"},
        ("core/a.cc:1",),
    ),
    Case("a whole file", tree(CHANGELOG_dot_md="the undertaker") | {ALLOWED: "CHANGELOG.md * tells of old versions\n"}),
]

if __name__ == "__main__":
    run(rule, CASES)
