"""Every x.cc has its x_test.cc beside it, or a line in no_unit_test.txt that says why not."""

from fnmatch import fnmatchcase
from pathlib import Path

from house import Case, files, lines, run

ROOMS = ("core", "store", "broker", "guard", "net", "gpu_worker", "producer", "tools")
LIST = "tests/house/no_unit_test.txt"
TEST_ENDINGS = ("_gpu_test.cc", "_test.cc")


def exceptions(root: Path) -> dict[str, tuple[int, str]]:
    """Pattern -> its line and reason."""
    if not (root / LIST).exists():
        return {}
    found = {}
    for number, line in lines(root, LIST):
        if line.strip() and not line.startswith("#"):
            pattern, _, reason = line.partition(" ")
            found[pattern] = (number, reason.strip())
    return found


def tested(path: str, paths: set[str]) -> bool:
    return any(path.removesuffix(".cc") + ending in paths for ending in TEST_ENDINGS)


def has_subject(test: str, paths: set[str]) -> bool:
    """Is there an x.cc, or an x.h with all its code in it, to this x_test.cc?"""
    stems = [test.removesuffix(ending) for ending in TEST_ENDINGS if test.endswith(ending)]
    return any(stem + suffix in paths for stem in stems for suffix in (".cc", ".h"))


def rule(root: Path) -> list[str]:
    paths = {p for p in files(root, ".cc", ".h") if p.split("/")[0] in ROOMS}
    excepted = exceptions(root)
    complaints = []
    for path in sorted(p for p in paths if p.endswith(".cc")):
        if path.endswith("_test.cc"):
            if not has_subject(path, paths):
                complaints.append(f"{path}:1: tests no file; name it after the x.cc it tests, or move it to tests/")
        elif not tested(path, paths) and not any(fnmatchcase(path, pattern) for pattern in excepted):
            test = path.removesuffix(".cc") + "_test.cc"
            complaints.append(f"{path}:1: has no test; write {test}, or a line with a reason in {LIST}")
    for pattern, (number, reason) in excepted.items():
        if not reason:
            complaints.append(f"{LIST}:{number}: '{pattern}' has no reason; write one after a space")
        if not any(fnmatchcase(path, pattern) and not tested(path, paths) for path in paths):
            complaints.append(f"{LIST}:{number}: '{pattern}' excuses no file; remove the line")
    return complaints


CASES = [
    Case("tested", {"core/job.cc": "", "core/job_test.cc": ""}),
    Case("tested on a GPU only", {"gpu_worker/judge/flush.cc": "", "gpu_worker/judge/flush_gpu_test.cc": ""}),
    Case("all in the header", {"core/job.h": "", "core/job_test.cc": ""}),
    Case("no test", {"core/job.cc": ""}, ("core/job.cc:1: has no test; write core/job_test.cc",)),
    Case("tests nothing", {"core/jobs_test.cc": ""}, ("core/jobs_test.cc:1: tests no file",)),
    Case("other folders are free", {"tests/sim/world.cc": ""}),
    Case("excused", {"broker/shell/main.cc": "", LIST: "# why\n*/main.cc  a list of steps\n"}),
    Case("no reason", {"broker/shell/main.cc": "", LIST: "*/main.cc\n"}, ("no_unit_test.txt:1: '*/main.cc' has no reason",)),
    Case("stale", {"core/a.cc": "", "core/a_test.cc": "", LIST: "core/a.cc x\n"}, (":1: 'core/a.cc' excuses no file",)),
]

if __name__ == "__main__":
    run(rule, CASES)
