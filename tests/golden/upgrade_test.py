"""Brokers, workers and clients of a released version understand those of this version, and the other way round.

released/VERSION.txt lists the golden files that a release had; the newest of each name is what its programs sent.
golden_test.cc shows that this version decodes them. A program of the release decodes what this version sends if each
field that it knows is still sent with the same type, because decoders skip unknown fields and surplus values
(core/codec/codec.h). This test compares the files field by field. A release adds its list of files:

    ls tests/golden/bytes | sort -V > tests/golden/released/VERSION.txt
"""

import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

try:
    import msgpack
except ImportError:
    sys.exit("skipped: this interpreter has no msgpack; scripts/setup installs it into .venv")

HERE = Path(__file__).resolve().parent
BYTES = HERE / "bytes"
NAME = re.compile(r"(?P<name>.+)\.v(?P<version>\d+)\.bin")


def newest(files: list[str]) -> dict[str, int]:
    """The highest version of each name."""
    versions: dict[str, int] = {}
    for file in files:
        match = NAME.fullmatch(file)
        assert match, f"{file} is not named NAME.vN.bin"
        versions[match["name"]] = max(versions.get(match["name"], 0), int(match["version"]))
    return versions


def unpacked(name: str, version: int) -> object:
    data = (BYTES / f"{name}.v{version}.bin").read_bytes()
    return msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogateescape")


def kind(value: object) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def missing(old: object, new: object, place: str) -> Iterator[str]:
    """What a reader of `old` does not find in `new`."""
    if kind(old) != kind(new):
        yield f"{place} was a {kind(old)} and is a {kind(new)}"
    elif isinstance(old, dict) and isinstance(new, dict):
        for field, value in old.items():
            if field in new:
                yield from missing(value, new[field], f"{place}.{field}")
            else:
                yield f"{place}.{field} is no longer sent"
    elif isinstance(old, list) and isinstance(new, list):
        if len(new) < len(old):
            yield f"{place} had {len(old)} values and has {len(new)}"
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from missing(one, other, f"{place}[{index}]")


class UpgradeTest(unittest.TestCase):
    def test_every_field_of_a_release_is_still_sent(self) -> None:
        now = newest([file.name for file in BYTES.iterdir()])
        lists = sorted((HERE / "released").glob("*.txt"))
        self.assertTrue(lists)
        for release in lists:
            for name, version in newest(release.read_text().split()).items():
                with self.subTest(release=release.stem, name=name):
                    self.assertIn(name, now, "the message or record is gone")
                    self.assertEqual(list(missing(unpacked(name, version), unpacked(name, now[name]), name)), [])

    def test_a_removed_and_a_retyped_field_are_found(self) -> None:
        self.assertEqual(list(missing({"a": [1]}, {"a": [1, 2], "b": 1}, "m")), [])
        self.assertEqual(
            list(missing({"a": 1, "b": 2}, {"a": "1"}, "m")), ["m.a was a number and is a str", "m.b is no longer sent"]
        )
        self.assertEqual(list(missing([1, 2], [1], "r")), ["r had 2 values and has 1"])


if __name__ == "__main__":
    unittest.main()
