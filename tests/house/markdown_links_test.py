"""Links in the documentation lead somewhere: relative files exist, and headings exist in them.

A path of the tree that a document names in code, as in `core/job.h`, exists too. Exceptions are CHANGELOG.md, which
names files of earlier versions, and paths with a placeholder in capitals, as in `tools/exporters/NAME.cc`.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from house import Case, files, lines, run

INLINE = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
HTML_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
FENCE = re.compile(r"^\s*(```+|~~~+)")
CODE = re.compile(r"(`+)(.+?)\1")
PATH = re.compile(r"[a-z_.]+(/[\w.-]+)+/?")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")


def prose(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced code."""
    fence = ""
    for number, line in lines(root, path):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        elif not fence:
            yield number, line


def anchors(root: Path, path: str) -> set[str]:
    """The names that GitHub gives to headings, and those written by hand."""
    found: set[str] = set()
    for _, line in prose(root, path):
        found.update(HTML_ANCHOR.findall(line))
        heading = HEADING.match(line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            slug = base = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = 0
            while slug in found:
                count += 1
                slug = f"{base}-{count}"
            found.add(slug)
    return found


def links(line: str) -> list[str]:
    without_code = re.sub(r"(`+).*?\1", "", line)
    return INLINE.findall(without_code) + REFERENCE.findall(without_code)


def named_paths(root: Path, line: str) -> list[str]:
    """The paths that a line names in code and that begin with a folder of the tree."""
    names = [match.group(2) for match in CODE.finditer(line)]
    return [
        name
        for name in names
        if PATH.fullmatch(name) and not PLACEHOLDER.search(name) and (root / name.split("/")[0]).is_dir()
    ]


def check(root: Path, path: str, link: str) -> str | None:
    if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
        return None
    target, _, anchor = unquote(link).partition("#")
    start = root if target.startswith("/") else root / PurePosixPath(path).parent
    file = (start / target.lstrip("/")).resolve() if target else root / path
    if not file.is_relative_to(root.resolve()) and target:
        return f"links to {link}, which is outside of the tree; link inside it, or to a full address"
    if not file.exists():
        return f"links to {link}, which is not there; correct the path"
    if anchor and file.suffix == ".md":
        known = anchors(root, file.relative_to(root.resolve()).as_posix() if target else path)
        if anchor not in known:
            return f"links to {link}, but there is no such heading; known are {', '.join(sorted(known)) or 'none'}"
    return None


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root, ".md"):
        for number, line in prose(root, path):
            for link in links(line):
                complaint = check(root, path, link)
                if complaint:
                    complaints.append(f"{path}:{number}: {complaint}")
            if path != "CHANGELOG.md":
                complaints += [
                    f"{path}:{number}: names {name}, which is not there; correct the path"
                    for name in named_paths(root, line)
                    if not name.startswith("build/") and not (root / name).exists()
                ]
    return complaints


GUIDE = "# The guide\n\n## What's `kq up`?\n\n## Twice\n\n## Twice\n"

CASES = [
    Case(
        "good links",
        {
            "docs/guide.md": GUIDE,
            "README.md": "[a](docs/guide.md) [b](docs/guide.md#whats-kq-up) [c](docs/guide.md#twice-1) [d](docs) "
            "[e](#top)\n# Top\n"
            '![p](docs/guide.md "title") [w](https://example.com/x.md)\n[ref]: docs/guide.md\n',
        },
    ),
    Case("code is not prose", {"README.md": "```sh\n[a](gone.md)\n```\n`[b](gone.md)`\n"}),
    Case("from the root", {"docs/a.md": "[a](/docs/a.md) [b](../docs/a.md)\n"}),
    Case("no file", {"README.md": "\n[a](gone.md)\n"}, ("README.md:2: links to gone.md, which is not there",)),
    Case("no reference", {"README.md": "[ref]: gone.md\n"}, ("README.md:1: links to gone.md",)),
    Case(
        "no heading",
        {"docs/guide.md": GUIDE, "README.md": "[a](docs/guide.md#thrice)\n"},
        ("README.md:1: links to docs/guide.md#thrice, but there is no such heading; known are",),
    ),
    Case("no own heading", {"README.md": "[a](#gone)\n"}, ("README.md:1: links to #gone",)),
    Case("a named file", {"README.md": "`core/job.h` `core/` `a/b.h` `build/x` `core/NAME.h`\n", "core/job.h": ""}),
    Case("no named file", {"README.md": "see `core/gone.h`\n", "core/job.h": ""}, ("README.md:1: names core/gone.h",)),
    Case("outside", {"README.md": "[a](../other/x.md)\n"}, ("which is outside of the tree",)),
]

if __name__ == "__main__":
    run(rule, CASES)
