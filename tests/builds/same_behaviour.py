"""Compares what two trees of kq do, so that a change that must not alter behaviour can show that it did not.

    python3 tests/builds/same_behaviour.py OLD NEW [--worlds N]

OLD and NEW are checkouts with build/release built. The comparison covers, one line each: the golden bytes and the store
fixtures in git, the scripts of the broker, the simulator's worlds, the options of every program and of every verb of
kq-ctl, exit codes of good and bad calls, the columns of every level of kq-dump, what kq-ctl verify says of each store
fixture, and the header, and with it the expected verdict, of every adversarial row. Exit code 0: nothing differs.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PROGRAMS = (
    "kq kq-broker kq-cache kq-check kq-ctl kq-doctor kq-down kq-dump kq-judge kq-leaderboard kq-results kq-sim "
    "kq-submit kq-sweep kq-up kq-worker"
).split()

# Calls whose exit code a script may rely on. None of them needs a broker; {tree} is the checkout.
CALLS = (
    "kq",
    "kq --version",
    "kq nonsense",
    "kq-broker",
    "kq-broker --store",
    "kq-broker --store x --keep-jobs 0",
    "kq-cache stats --state {tmp}/none",
    "kq-cache nonsense",
    "kq-check {tree}/examples/sweep/submissions/relu/right_fast_torch.py",
    "kq-check {tree}/examples/sweep/submissions/axpby/stream_create_cuda.cu",
    "kq-check {tmp}/none.py",
    "kq-check --rule nonsense {tree}/README.md",
    "kq-ctl nonsense",
    "kq-ctl stats --broker nonsense",
    "kq-ctl keygen",
    "kq-ctl verify --store {tmp}/none",
    "kq-dump --run x --store {tmp}/none",
    "kq-dump --run x --format nonsense",
    "kq-dump --schema",
    "kq-leaderboard --store {tmp}/none",
    "kq-results x --store {tmp}/none",
    "kq-results",
    "kq-submit",
    "kq-submit {tmp}/none.py --problem {tree}/examples/sweep/problems/relu.py --dry-run",
    "kq-submit {tree}/examples/sweep/submissions/relu/right_fast_torch.py --dry-run",
    "kq-submit {tree}/examples/sweep/submissions/relu/right_fast_torch.py "
    "--problem {tree}/examples/sweep/problems/relu.py --dry-run",
    "kq-sweep",
    "kq-up --keys x",
    "kq-down --state {tmp}/none",
    "kq-worker --devices nonsense",
    "kq-worker --nonsense",
    "kq-sim --seed x",
)

OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def run(tree: Path, call: str, cwd: Path | None = None) -> tuple[int, str]:
    """Returns the exit code and standard output of a program of a tree."""
    program, *arguments = call.split()
    done = subprocess.run(
        [tree / "build/release/bin" / program, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        errors="replace",
    )
    return done.returncode, done.stdout


def files_of(tree: Path, *patterns: str) -> dict[str, bytes]:
    """Returns the bytes of files by their name without the folder, which may have moved."""
    found = {}
    for pattern in patterns:
        for path in sorted(tree.glob(pattern)):
            if path.is_file():
                found["/".join(path.parts[-2:])] = path.read_bytes()
    return found


def golden_bytes(tree: Path) -> dict[str, bytes]:
    return files_of(tree, "tests/golden/bytes/**/*")


def store_fixtures(tree: Path) -> dict[str, bytes]:
    return files_of(tree, "store/testdata/**/*")


def broker_scripts(tree: Path) -> dict[str, bytes]:
    return files_of(tree, "broker/testdata/**/*", "broker/script/testdata/**/*")


def worlds(count: int) -> Callable[[Path], dict[str, str]]:
    def of(tree: Path) -> dict[str, str]:
        code, text = run(tree, f"kq-sim --seeds 1..{count} --jobs 2")
        # The times are left out, because they differ between runs.
        return {"exit code": str(code), "figures": re.sub(r" in [\d.]+ s \([^)]*\)", "", text)}

    return of


def options(tree: Path) -> dict[str, str]:
    found = {}
    for program in PROGRAMS:
        found[program] = " ".join(sorted(set(OPTION.findall(run(tree, f"{program} --help")[1]))))
    verbs = re.findall(r"^  ([a-z-]+) {2,}", run(tree, "kq-ctl --help")[1], re.MULTILINE)
    for verb in verbs:
        code, text = run(tree, f"kq-ctl {verb} --help")
        found[f"kq-ctl {verb}"] = f"{code} " + " ".join(sorted(set(OPTION.findall(text))))
    return found


def exit_codes(tree: Path) -> dict[str, str]:
    found = {}
    for call in CALLS:
        with tempfile.TemporaryDirectory(prefix="kq-same.") as tmp:
            found[call] = str(run(tree, call.format(tree=tree, tmp=tmp), Path(tmp))[0])
    return found


def columns(tree: Path) -> dict[str, str]:
    found = {}
    for level in ("job", "case", "sample", "metric"):
        text = run(tree, f"kq-dump --schema --level {level}")[1]
        found[level] = " ".join(line.split()[0] for line in text.splitlines() if line.strip())
    return found


def verified_stores(tree: Path) -> dict[str, str]:
    found = {}
    for store in sorted(tree.glob("store/testdata/schema_*")):
        code, text = run(tree, f"kq-ctl verify --store {store}")
        found[store.name] = f"{code} {' '.join(re.findall(r'[0-9]+', text.replace(str(store), '')))}"
    return found


def adversarial_rows(tree: Path) -> dict[str, str]:
    """Returns what the header of each row expects; the folder of a row may have changed."""
    found = {}
    for path in sorted(tree.glob("tests/adversarial/**/*")):
        if path.suffix in (".py", ".cu", ".ptx") and path.parent.name not in ("suite", "problems"):
            head = [line for line in path.read_text(errors="replace").splitlines()[:12] if line[:2] in ("# ", "//")]
            found[path.name] = "\n".join(head[1:])  # the first line only describes the row
    return found


def compare(name: str, of: Callable[[Path], dict], old: Path, new: Path) -> bool:
    before, after = of(old), of(new)
    differing = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    print(f"{name}: {len(before)} compared, " + ("all the same" if not differing else f"{len(differing)} differ"))
    for key in differing[:20]:
        for side, values in (("old", before), ("new", after)):
            value = values.get(key, "absent")
            print(f"  {key}, {side}: {value if isinstance(value, str) else f'{len(value)} bytes'}")
    return not differing and bool(before)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares what two trees of kq do.")
    parser.add_argument("old", type=Path, help="a checkout with build/release built")
    parser.add_argument("new", type=Path, help="another checkout with build/release built")
    parser.add_argument("--worlds", type=int, default=2000, help="simulated worlds to compare (default: 2000)")
    arguments = parser.parse_args()
    old, new = arguments.old.resolve(), arguments.new.resolve()
    parts: dict[str, Callable[[Path], dict]] = {
        "golden bytes": golden_bytes,
        "store fixtures": store_fixtures,
        "broker scripts": broker_scripts,
        "options in --help": options,
        "exit codes": exit_codes,
        "columns of kq-dump": columns,
        "verified store fixtures": verified_stores,
        "expectations of adversarial rows": adversarial_rows,
        f"figures of {arguments.worlds} simulated worlds": worlds(arguments.worlds),
    }
    results = [compare(name, of, old, new) for name, of in parts.items()]
    print(f"{sum(results)} parts the same, {len(results) - sum(results)} differ")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
