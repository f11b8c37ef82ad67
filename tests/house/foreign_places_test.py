"""No file names a place that exists on one machine only, nor the host of a package registry: mirrors are a setting."""

import re
from pathlib import Path

from house import Case, files, lines, run

# Put together here, so that this file does not itself name what it forbids.
FOLDERS = tuple(f"/{name}/" for name in ("work", "farm", "root"))
HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("rubygems", "org"),
        ("conda", "anaconda", "org"),
        ("developer", "download", "nvidia"),
    )
)

# A folder counts only at the start of a path, so a relative path may have a folder of that name.
PLACE = re.compile(r"(?<![\w.$}\])>*~-])(" + "|".join(map(re.escape, FOLDERS)) + ")")
HOST = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, HOSTS)) + r")\b")


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root):
        for number, line in lines(root, path):
            place, host = PLACE.search(line), HOST.search(line)
            if place:
                complaints.append(
                    f"{path}:{number}: names {place.group(1)}, a folder of one machine; use a relative path"
                )
            if host:
                complaints.append(
                    f"{path}:{number}: names {host.group(1)}, a registry's host; leave it to the tool's settings"
                )
    return complaints


CASES = [
    Case(
        "relative", {"a.py": f"open('build{FOLDERS[0]}x')\n", "scripts/x": f'ls "$root{FOLDERS[0]}" ..{FOLDERS[0]}\n'}
    ),
    Case("elsewhere", {"README.md": "https://example.com and python.org\n"}),
    *(Case(folder, {"docs/a.md": f"\nsee {folder}x\n"}, (f"docs/a.md:2: names {folder}",)) for folder in FOLDERS),
    *(Case(host, {"a.txt": f"https://{host}/simple\n"}, (f"a.txt:1: names {host}",)) for host in HOSTS),
    Case("below a registry", {"a.txt": f"files.{HOSTS[1]}\n"}, (f"a.txt:1: names {HOSTS[1]}",)),
]

if __name__ == "__main__":
    run(rule, CASES)
