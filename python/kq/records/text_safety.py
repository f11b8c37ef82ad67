"""Finds characters that a reader cannot see and that change how the text around them is shown.

The Python twin of core/base/safe_text.h.
"""

from __future__ import annotations

HIDDEN = (
    (0x0080, 0x009F),  # C1 controls
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian separators
    (0x200B, 0x200F),  # zero-width space and joiners, direction marks
    (0x2028, 0x202E),  # line and paragraph ends, direction embeddings
    (0x2060, 0x206F),  # word joiner, direction isolates
    (0x3164, 0x3164),  # Hangul filler
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xE0000, 0xE0FFF),  # tag characters
)


def is_hidden(character: str) -> bool:
    """Returns whether a reader of a terminal or page cannot see the character."""
    return any(first <= ord(character) <= last for first, last in HIDDEN)


def visible(text: str) -> str:
    """Returns the text with a visible mark, U+FFFD, in place of each hidden character."""
    return "".join("\N{REPLACEMENT CHARACTER}" if is_hidden(character) else character for character in text)


def one_line(text: str, characters_max: int) -> str:
    """Returns the first line of an untrusted text, cut, without what a terminal obeys or a reader cannot see."""
    line = text.split("\n", 1)[0]
    shown = line if len(line) <= characters_max else line[: characters_max - 1] + "…"
    return "".join(one if one.isprintable() and not is_hidden(one) else "\N{REPLACEMENT CHARACTER}" for one in shown)
