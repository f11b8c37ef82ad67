"""Builds many sources with kq and with torch's load_inline and compares the results. For scripts/bench build --compare.

An answer is a dict about one build. "s" and "cpu_s" are the wall-clock and processor seconds of a successful build,
"error" is the text of a failed one. "ran_on" is the device on which the module was called, "wrong" says how its results
differ from torch's, and "digest" is a hash of its results. "cut" stands for a build that was stopped because the time
was up.
"""

import statistics
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

Answer = dict[str, Any]
GIB_OF_A_BUILD = 4


def part_of(names: list[str], part: str) -> list[str]:
    """Returns the I-th of N parts for "I/N". A part is contiguous, so that every 20 cases have one of each family."""
    i, _, n = part.partition("/")
    if not (i.isdigit() and n.isdigit() and 1 <= int(i) <= int(n)):
        raise ValueError(f"a part must be I/N, such as 1/2, got '{part}'")
    return names[len(names) * (int(i) - 1) // int(n) : len(names) * int(i) // int(n)]


def jobs_here(processors: int) -> int:
    """Returns how many builds may run at the same time, limited by processors and memory."""
    available = next(
        int(line.split()[1])
        for line in Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable:")
    )
    return max(1, min(processors, available // (GIB_OF_A_BUILD << 20)))


def build_all(
    names: list[str],
    sides: tuple[str, ...],
    jobs: int,
    ask: Callable[[str, str], Answer],
    record: Callable[[str, str, Answer], None],
) -> None:
    """Runs all builds of one side and then those of the next, `jobs` at a time. Calls `record` after each build."""
    lock = Lock()

    def one(side: str, name: str) -> None:
        answer = ask(side, name)
        with lock:
            record(side, name, answer)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for end in [pool.submit(one, side, name) for side in sides for name in names]:
            end.result()


def is_built_and_correct(answer: Answer) -> bool:
    """Whether the module was built and its results are correct."""
    return "s" in answer and answer.get("wrong") == ""


def failures_of(sources: dict[str, dict[str, Answer]]) -> list[str]:
    """Returns the cases in which kq differs from torch, and those in which both fail."""
    found = []
    for name, sides in sources.items():
        kq, torch = sides.get("kq", {}), sides.get("torch", {})
        if "error" in kq:
            found.append(f"{name}: kq does not build it{', torch does' if 's' in torch else ''}: {kq['error']}")
        if "error" in torch:
            found.append(f"{name}: torch does not build it{', kq does' if 's' in kq else ''}: {torch['error']}")
        found += [f"{side}: {sides[side]['wrong']}" for side in sides if sides[side].get("wrong")]
    return found


def cut_builds_of(sources: dict[str, dict[str, Answer]]) -> list[str]:
    """Returns the builds that the time limit stopped."""
    return [f"{side} {name}" for name, sides in sources.items() for side, answer in sides.items() if "cut" in answer]


def lines_of(sources: dict[str, dict[str, Answer]]) -> list[str]:
    """Returns the comparison as text."""
    lines = []
    sides = list(dict.fromkeys(side for answers in sources.values() for side in answers))
    for side in sides:
        answers = [answers[side] for answers in sources.values() if side in answers]
        built = [answer for answer in answers if "s" in answer]
        ran = Counter(answer["ran_on"] for answer in built if answer.get("ran_on"))
        places = ", ".join(f"{n} on {place}" for place, n in ran.items()) or "none"
        lines.append(
            f"{side}: built {len(built)} of {len(answers)}; run: {places}; "
            f"right {sum(answer.get('wrong') == '' for answer in built)}"
        )
        if built:
            seconds = [answer["s"] for answer in built]
            middle, most, worked = statistics.median(seconds), max(seconds), sum(answer["cpu_s"] for answer in built)
            lines.append(
                f"{side}: {middle:.1f} s each in the median, {most:.1f} at most; "
                f"{worked:.0f} s of processors in all, {worked / len(built):.1f} each"
            )
    if len(sides) == 2:
        pairs = [answers for answers in sources.values() if all("s" in answers.get(side, {}) for side in sides)]
        ran_both = [answers for answers in pairs if all(answers[side].get("wrong") == "" for side in sides)]
        same = sum(answers["kq"].get("digest") == answers["torch"].get("digest") for answers in ran_both)
        lines.append(
            f"built both ways: {len(pairs)} of {len(sources)}; both right: {len(ran_both)}; "
            f"to the last bit the same: {same}"
        )
        if pairs:
            worked = [sum(answers[side]["cpu_s"] for answers in pairs) for side in ("torch", "kq")]
            lines.append(
                f"torch takes {worked[0] / worked[1]:.1f} times the processors' time of kq, "
                "for the sources that both built"
            )
    ways = Counter(answers["kq"].get("way", "none") for answers in sources.values() if "s" in answers.get("kq", {}))
    lines.append("kq's ways: " + ", ".join(f"{way} {n}" for way, n in ways.most_common()))
    if undone := cut_builds_of(sources):
        lines.append(
            f"PARTIAL: time was up before {len(undone)} builds: "
            f"{', '.join(undone[:10])}{' ...' if len(undone) > 10 else ''}"
        )
    return lines
