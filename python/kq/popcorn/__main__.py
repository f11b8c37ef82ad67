"""Stands in for programs that callers of GPU MODE's problems and of KernelBench start.

python -m kq.popcorn eval MODE [CASES]       eval.py, in the folder of a problem; CASES is not read
python -m kq.popcorn cli submit ... FILE     popcorn-cli, with the problems of the checkout in $KQ_POPCORN
python -m kq.popcorn run_and_check KEY=VALUE ...    KernelBench's scripts/run_and_check.py
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import uuid
from pathlib import Path
from types import FrameType

from kq.client import Client
from kq.errors import BadInput, exit_code_of
from kq.popcorn.directives import Directives, directives_of
from kq.popcorn.evaluation import Outcome, evaluate, rows_of, submit_and_wait
from kq.popcorn.gpus import gpu_of
from kq.popcorn.texts import protocol_lines, report, run_and_check_text

WRONG = 112  # the exit code of an eval program whose check fails
MODES = ("test", "benchmark", "leaderboard")
ANY_GPU = ("", "NVIDIA")  # names of a GPU under which any will do


def eval_program(words: list[str]) -> int:
    """Judges submission.py of the current folder, which holds task.yml, and writes the lines to POPCORN_FD."""
    mode = words[0] if words else ""
    if mode not in MODES:
        raise BadInput(f"the mode is test, benchmark or leaderboard, got '{mode}'")
    if "POPCORN_FD" not in os.environ:
        raise BadInput("POPCORN_FD must name the descriptor for the lines, such as 1")
    [outcome] = evaluate(".", [Path("submission.py").read_text()], mode=mode, options=options())
    with os.fdopen(int(os.environ["POPCORN_FD"]), "w") as out:
        out.write(protocol_lines(outcome, mode))
    return 0 if outcome.passed else WRONG


def cli(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="popcorn-cli")
    parser.add_argument("verb", choices=["submit"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--leaderboard", help="the leaderboard; without it that of a line '#!POPCORN leaderboard NAME'")
    parser.add_argument("--gpu", help="the GPU, such as H100 or CPU; without it that of a line '#!POPCORN gpu NAME'")
    parser.add_argument("--mode", default="leaderboard", choices=MODES)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--no-tui", action="store_true", help="has no effect: there is no other form")
    given = parser.parse_args(words)
    checkout = os.environ.get("KQ_POPCORN")
    if not checkout:
        raise BadInput("KQ_POPCORN must name the checkout of the problems")
    code = text_of(given.file)
    directives = directives_of(code)
    leaderboard = given.leaderboard or directives.leaderboard
    if not leaderboard:
        raise BadInput(
            "no leaderboard is named: --leaderboard NAME names it, or a line '#!POPCORN leaderboard NAME' in "
            f"{given.file}"
        )
    placed = placed_options(only_gpu(given.file, directives) if given.gpu is None else given.gpu)
    [outcome] = evaluate(checkout, [code], mode=given.mode, name=leaderboard, options=placed)
    write_report(outcome, given.mode, given.output)
    return 0 if outcome.passed else 1


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error


def only_gpu(path: Path, directives: Directives) -> str:
    """Returns the GPU that the lines of a file name, or an empty text if none does."""
    if len(directives.gpus) > 1:
        *others, last = directives.gpus
        raise BadInput(
            f"{path} names {len(directives.gpus)} GPUs, {', '.join(others)} and {last}, but a submission runs on one: "
            "--gpu NAME chooses it"
        )
    return "".join(directives.gpus)


def placed_options(gpu: str) -> list[str]:
    """Returns options() with those that select a GPU. Raises BadInput if no connected worker has it."""
    given = options()
    if gpu in ANY_GPU:
        return given
    with Client() as client:
        words = gpu_of(gpu, client.status()).options()
    named = any(given[at : at + 2] == words for at in range(len(given)))
    return given if named else [*given, *words]


def write_report(outcome: Outcome, mode: str, path: Path | None) -> None:
    """Prints the report; a file appears whole, because its readers look for it again and again."""
    text = report(outcome, mode)
    print(text, end="")
    if path is not None:
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(text)
        partial.rename(path)


def run_and_check(words: list[str]) -> int:
    run = f"check-{uuid.uuid4().hex[:12]}"
    if "ref_origin=local" in words:  # the reference is a file, and level and number only name it
        words = [word for word in words if not word.startswith(("level=", "problem_id="))]
    submit_and_wait(run, [*words, *options()])
    for row in rows_of(run):
        print(run_and_check_text(row), end="")
    return 0


def options() -> list[str]:
    """Returns more words for kq submit, from KQ_SUBMIT_OPTIONS: "--device cuda"."""
    return os.environ.get("KQ_SUBMIT_OPTIONS", "").split()


VERBS = {"eval": eval_program, "cli": cli, "run_and_check": run_and_check}


def end(number: int, frame: FrameType | None) -> None:
    """Ends the program for a signal. The exit code is that of a shell, 143 for SIGTERM. The signal is ignored from then
    on, because `timeout` sends it twice.
    """
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has SIGHUP ignored
            signal.signal(number, end)
    if len(sys.argv) > 1 and sys.argv[1] in VERBS:
        return VERBS[sys.argv[1]](sys.argv[2:])
    print((__doc__ or "").strip(), file=sys.stderr)
    return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(exit_code_of("kq.popcorn", main))
