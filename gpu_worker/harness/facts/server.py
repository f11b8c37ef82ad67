"""Facts of many Python files by one process, for kq-check: each request on stdin is answered on stdout, in order, until stdin ends.

    request    NAME-BYTES <SPACE> SOURCE-BYTES <LF>, then name and source
    answer     "facts" or "refused" <SPACE> LINE <SPACE> BYTES <LF>, then the facts (guard/facts.h), or why it is no source

It reads and runs nothing of a source. Standard library only: python3 -I -S facts_server.py.
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.facts.ast_facts import facts_of  # noqa: E402


def answer(name: str, source: bytes) -> tuple[str, int, bytes]:
    try:
        return "facts", 0, facts_of(source, name).encode()
    except SyntaxError as error:
        return "refused", error.lineno or 1, str(error.msg).encode(errors="replace")
    except ValueError as error:
        return "refused", 1, str(error).encode(errors="replace")


def serve() -> None:
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := requests.readline():
        name_bytes, source_bytes = map(int, header.split())
        name = requests.read(name_bytes).decode(errors="replace")
        word, line, body = answer(name, requests.read(source_bytes))
        answers.write(f"{word} {line} {len(body)}\n".encode() + body)
        answers.flush()


if __name__ == "__main__":
    gc.freeze()
    serve()
