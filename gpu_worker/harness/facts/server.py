"""The program of kq-check's facts child: one process that reads many Python files. It answers each request on stdin on
stdout, in order, until stdin ends.

    request    NAME-BYTES <SPACE> SOURCE-BYTES <LF>, then the name and the source
    answer     "facts" <SPACE> 0 <SPACE> BYTES <LF>, then the facts (guard/facts.h)
               "refused" <SPACE> LINE <SPACE> BYTES <LF>, then the reason why the source cannot be read

It runs nothing of a source. It uses the standard library only: python3 -I -S facts/server.py.
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.facts.ast_facts import facts_of  # noqa: E402
from harness.facts.syntax_errors import syntax_error_text  # noqa: E402


def answer(name: str, source: bytes) -> tuple[str, int, bytes]:
    try:
        return "facts", 0, facts_of(source, name).encode()
    except SyntaxError as error:
        return "refused", error.lineno or 1, syntax_error_text(error, source).encode(errors="replace")
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
