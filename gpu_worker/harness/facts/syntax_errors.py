"""What is wrong with a Python file that cannot be parsed."""

import ast

FENCE = b"```"  # begins a line before and after code in Markdown


def syntax_error_text(error: SyntaxError, source: bytes) -> str:
    """Returns "SyntaxError: invalid syntax". Where the file is an answer in Markdown, the text says that, too."""
    text = f"{type(error).__name__}: {error.msg}"
    fence = fence_line(error.lineno or 1, source)
    return f"{text}; line {fence} is a Markdown fence, send only the code inside" if fence else text


def fence_line(wrong: int, source: bytes) -> int:
    """Returns the number of the Markdown fence because of which a file cannot be parsed, or 0.

    It is the wrong line itself, or the first fence after it if the code inside can be parsed: the wrong line is then
    text before the code. A fence before the wrong line may belong to a docstring.
    """
    lines = source.splitlines()
    if wrong <= len(lines) and lines[wrong - 1].lstrip().startswith(FENCE):
        return wrong
    fences = [number for number, line in enumerate(lines, 1) if line.startswith(FENCE)]
    if not fences or fences[0] < wrong:
        return 0
    end = fences[1] - 1 if len(fences) > 1 else len(lines)
    try:
        inside = ast.parse(b"\n".join(lines[fences[0] : end]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    return fences[0] if inside.body else 0
