"""Real runs for the tests of pages: two sweeps on the CPU, with names, logs and sources that try to break a page."""

import json
import subprocess
from pathlib import Path

import kq

SCRIPT = "<script>document.documentElement.dataset.broken='yes'</script>"
IMAGE = "<img src=x onerror=\"document.documentElement.dataset.broken='yes'\">"
BIDI = "\u202egnp.evil\u2066"

GELU = kq.RELU.replace("torch.relu(x)", "torch.nn.functional.gelu(x)")
RIGHT_GELU = kq.RIGHT.replace("torch.relu(x)", "torch.nn.functional.gelu(x)")
PRINTED = f"\x1b[31mred\x1b[0m {SCRIPT} {BIDI}"
PRINTS = kq.RIGHT.replace("        return", f"        print({PRINTED!r})\n        return")
TWICE = kq.RIGHT.replace("return torch.relu(x)", "return torch.relu(torch.relu(x) + 0 * x.sin().exp())")

FIRST: dict[str, tuple[str, str]] = {
    "relu/copy": ("relu", kq.RIGHT),
    "relu/twice": ("relu", TWICE),
    "relu/wrong": ("relu", kq.WRONG),
    "relu/prints": ("relu", PRINTS),
    "relu/no_syntax": ("relu", "class ModelNew(:\n    pass\n"),
    "relu/raises": ("relu", kq.RIGHT.replace("return torch.relu(x)", f"raise ValueError({SCRIPT!r})")),
    f"relu/{SCRIPT}": ("relu", f"# </script>{SCRIPT}<!-- {BIDI}\n{kq.RIGHT}"),
    f"relu/{IMAGE}": ("relu", f"# {IMAGE}\n{kq.RIGHT}"),
    "relu/turns": ("relu", f"# {BIDI}\n{kq.RIGHT}"),  # labels may not turn the direction of a line, sources may
    "=1+cmd|' /C calc'!A0": ("relu", f"# a formula\n{kq.RIGHT}"),
    "gelu/copy": ("gelu", RIGHT_GELU),
    "gelu/wrong": ("gelu", kq.RIGHT),
}
# Against the first run one kernel became wrong, one right, one slower, one is gone and one is new.
SECOND = {
    **{label: one for label, one in FIRST.items() if label != "gelu/copy"},
    "relu/copy": ("relu", kq.WRONG.replace("x + 1", "x + 2")),
    "relu/wrong": ("relu", "# mended\n" + kq.RIGHT),
    "relu/new": ("relu", "# new\n" + kq.RIGHT),
}


def write(folder: Path, kernels: dict[str, tuple[str, str]]) -> Path:
    """Writes a submissions.jsonl with the kernels and their problems."""
    folder.mkdir(parents=True)
    (folder / "relu.py").write_text(kq.RELU)
    (folder / "gelu.py").write_text(GELU)
    lines = []
    for number, (label, (problem, source)) in enumerate(kernels.items()):
        (folder / f"k{number}.py").write_text(source)
        line = {
            "id": label,
            "problem": f"{problem}.py",
            "path": f"k{number}.py",
            "backend": "torch",
            "author": SCRIPT if "script" in label else "ann" if number % 2 else "bob",
            "tags": {"model": IMAGE if "img" in label else "m1"},
        }
        lines.append(json.dumps(line))
    (folder / "submissions.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def sweep(state: Path, folder: Path, run: str) -> None:
    """Evaluates a folder in one state folder, by programs that end with it."""
    words = ("sweep", folder, "--run", run, "--state", state, "--device", "cpu", "--exit-zero")
    done = kq.kq(*words)
    if done.returncode != 0:
        raise AssertionError(f"{done.args}\n{done.stdout}\n{done.stderr}")


def two_runs(folder: Path) -> Path:
    """Makes the runs `first` and `second` in one store, and returns the store."""
    state = folder / "state"
    sweep(state, write(folder / "first", FIRST), "first")
    sweep(state, write(folder / "second", SECOND), "second")
    return state / "store"


def generated(folder: Path, rows: int) -> Path:
    """Makes a store with the run `bench` of that many finished jobs."""
    store = folder / f"store-{rows}"
    subprocess.run([str(kq.BIN / "dump_rows"), str(store), str(rows)], check=True, timeout=kq.LIMIT_S)
    return store
