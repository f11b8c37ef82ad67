"""Lists of results that a notebook shows as an HTML table, and print() as a table of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TypeVar

from kq.evaluation import Evaluation
from kq.records.jobs import LeaderboardRow, RunRow, speedup_text
from kq.records.text_safety import visible
from kq.tables.columns import Row
from kq.tables.text_table import text_table

T = TypeVar("T")

SHOWN_MAX = 200  # the number of rows that a notebook shows; the list itself holds all rows
TEXT_MAX = 160  # the number of characters that a cell shows


class Rows(list[RunRow]):
    """The rows of a run."""

    def flat(self) -> list[Row]:
        """Returns the rows as flat records with every column of kq-dump."""
        return [Row.of(row) for row in self]

    def __repr__(self) -> str:
        return text_table(self, ROW_CELLS)

    def _repr_html_(self) -> str:
        measured = [row.verdict.measurement for row in self if row.verdict]
        return html_table(self, ROW_CELLS) + _busy(any(one.is_noisy for one in measured if one))


class Board(list[LeaderboardRow]):
    """The rows of a leaderboard."""

    def __repr__(self) -> str:
        return text_table(self, BOARD_CELLS)

    def _repr_html_(self) -> str:
        return html_table(self, BOARD_CELLS) + _busy(any(row.is_noisy for row in self))


class Evaluations(list[Evaluation]):
    """The outcomes of evaluate_many(), in the order of its sources."""

    @property
    def rewards(self) -> list[float | None]:
        """The reward of each source, or None where it is unknown."""
        return [one.reward for one in self]

    def __repr__(self) -> str:
        return text_table(self, EVALUATION_CELLS)

    def _repr_html_(self) -> str:
        return html_table(self, EVALUATION_CELLS)


def time_text(ns: float | None) -> str:
    """Returns a time with a unit, such as "1.23 us" or "45.6 ms"; returns an empty text for 0 and None."""
    if not ns:
        return ""
    for unit, size in (("ns", 1), ("us", 1e3), ("ms", 1e6)):
        if ns < 1000 * size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def noise_text(figure: float, noise: float) -> str:
    """Returns the noise as a share of the figure, such as " ±3%"; returns an empty text if it is unknown."""
    if figure <= 0 or noise <= 0 or not math.isfinite(noise):
        return ""
    percent = 100 * noise / figure
    return f" ±{percent:.1f}%" if percent < 1 else f" ±{percent:.0f}%"


def shown_speedup(speedup: float | None) -> str:
    """Returns a speedup such as "1.50x"; returns an empty text for 0 and None."""
    return speedup_text(speedup) if speedup else ""


def html_table(rows: Sequence[T], cells: Mapping[str, Callable[[T], str]]) -> str:
    """Returns an HTML table with one line per row. All texts are escaped, because they are untrusted."""
    lines = [_line("th", cells), *(_line("td", [cell(row) for cell in cells.values()]) for row in rows[:SHOWN_MAX])]
    more = f"<p>and {len(rows) - SHOWN_MAX} more</p>" if len(rows) > SHOWN_MAX else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _line(tag: str, texts: Iterable[str]) -> str:
    shown = (text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…" for text in texts)
    return "<tr>" + "".join(f"<{tag}>{escape(visible(text))}</{tag}>" for text in shown) + "</tr>"


def _busy(is_any_noisy: bool) -> str:
    """Returns the sentence under a table that says what "~" means, or an empty text where no row has it."""
    if not is_any_noisy:
        return ""
    return "<p>~: the machine was busy while this was measured; measure again on a quiet one</p>"


def _verdict(row: RunRow | None) -> str:
    if row is None:
        return ""
    return row.verdict.name.value if row.verdict else row.job.state.value


def _time(row: RunRow | None) -> str:
    measured = row.verdict.measurement if row and row.verdict else None
    if not measured:
        return ""
    ns = measured.submission.median_ns
    return ("~" if measured.is_noisy else "") + time_text(ns) + noise_text(ns, measured.submission_noise)


def _reference_time(row: RunRow | None) -> str:
    measured = row.verdict.measurement if row and row.verdict else None
    if not measured:
        return ""
    ns = measured.reference.median_ns
    return time_text(ns) + noise_text(ns, measured.reference_noise)


def _speedup(row: RunRow) -> str:
    measured = row.verdict.measurement if row.verdict else None
    if not measured:
        return ""
    return shown_speedup(measured.speedup) + noise_text(measured.speedup, measured.speedup_noise)


def _message(row: RunRow | None) -> str:
    evidence = row.verdict.evidence if row and row.verdict else None
    return evidence.message if evidence else ""


ROW_CELLS: dict[str, Callable[[RunRow], str]] = {
    "label": lambda row: row.label,
    "problem": lambda row: row.entry.submission.problem.name,
    "verdict": _verdict,
    "time": _time,
    "reference": _reference_time,
    "speedup": _speedup,
    "device": lambda row: row.result.device.model if row.result else "",
    "message": _message,
}


def _remarks(row: LeaderboardRow) -> str:
    return " (fallback)" * row.fell_back + " (decoy)" * row.decoy + " (findings)" * row.findings


BOARD_CELLS: dict[str, Callable[[LeaderboardRow], str]] = {
    "problem": lambda row: row.problem,
    "device": lambda row: row.device_model,
    "label": lambda row: row.label,
    "author": lambda row: row.author,
    "submitter": lambda row: row.submitter,
    "backend": lambda row: row.backend + _remarks(row),
    "time": lambda row: (
        ("~" if row.is_noisy else "") + time_text(row.median_ns) + noise_text(row.median_ns, row.noise_ns)
    ),
    "reference": lambda row: time_text(row.reference_ns) + noise_text(row.reference_ns, row.reference_noise_ns),
    "speedup": lambda row: shown_speedup(row.speedup) + noise_text(row.speedup, row.speedup_noise),
    "baseline": lambda row: row.baseline.value,
    "jobs": lambda row: str(len(row.runs)) if row.runs else "",
    "samples": lambda row: str(row.sample_count) if row.sample_count else "",
}

EVALUATION_CELLS: dict[str, Callable[[Evaluation], str]] = {
    "label": lambda one: one.label,
    "verdict": lambda one: _verdict(one.row) if one.row else "bad source" if one.bad_source else "",
    "reward": lambda one: "" if one.reward is None else f"{one.reward:.3g}" + noise_text(one.reward, one.noise or 0.0),
    "time": lambda one: _time(one.row),
    "reference": lambda one: _reference_time(one.row),
    "message": lambda one: one.infra_error or one.bad_source or _message(one.row),
}
