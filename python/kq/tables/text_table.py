"""Rows as a table of plain text, for print() and the interpreter's prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kq.records.text_safety import one_line

T = TypeVar("T")

PRINTED_MAX = 50  # the number of rows that are printed; the list itself holds all rows
CELL_MAX = 60  # the number of characters that a cell shows
GAP = "  "


def text_table(rows: Sequence[T], cells: Mapping[str, Callable[[T], str]]) -> str:
    """Returns a table with a heading and one line per row, without the columns that are empty in every row."""
    if not rows:
        return "no rows"
    lines = [[one_line(cell(row), CELL_MAX) for cell in cells.values()] for row in rows[:PRINTED_MAX]]
    kept = [index for index in range(len(cells)) if any(line[index] for line in lines)]
    table = [[list(cells)[index] for index in kept], *([line[index] for index in kept] for line in lines)]
    widths = [max(len(line[index]) for line in table) for index in range(len(kept))]
    text = [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    if len(rows) > PRINTED_MAX:
        text.append(f"and {len(rows) - PRINTED_MAX} more")
    return "\n".join(text)
