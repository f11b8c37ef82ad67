"""Takes bodies out of torch's headers in what nvcc's preprocessor leaves of a .cu.

nvcc preprocesses a .cu twice, for cudafe++ and for cicc, which then read all of torch's headers. Most of their time and
memory goes into bodies of functions that the source does not need. The compile child once preprocesses torch's headers
as nvcc does, finds these bodies (header_bodies.py), and notes their places by *segment*: the text from one entry into a
header, or return from one, to the next. In the preprocessed text of a source, each segment that is equal to a noted one
loses its bodies. A segment that differs in one byte, because of a macro for instance, stays as it is, so that the order
of the headers does not matter, and neither do flags.

    cicc      loses bodies of all functions for the host, templates too: no device code can call them
    cudafe++  loses bodies of inline functions that are no templates; the archive of the prefix of torch/extension.h has
              these (torch_prefix.py)

Headers of the CUDA toolkit keep every body, because their templates launch kernels.
"""

import hashlib
import json
import re
from pathlib import Path

from harness.extensions.header_bodies import BodyStripper

HEADERS = ("torch/types.h", "cuda.h", "cuda_runtime.h", "torch/extension.h")
ENTRY = re.compile(r'^# \d+ "([^"\n]*)" [12][ \d]*$', re.M)
# By the end of a preprocessed file's name: the name of the pass.
PASSES = {".cpp1.ii": "device", ".cpp4.ii": "host"}
Edits = dict[str, list[tuple[int, int]]]


def segments_of(text: str) -> list[tuple[int, int, str]]:
    """Returns the begin and the end of every segment, and the file that it is a part of."""
    found = list(ENTRY.finditer(text))
    ends = [*(entry.start() for entry in found[1:]), len(text)]
    return [(entry.start(), end, entry.group(1)) for entry, end in zip(found, ends)]


def key_of(segment: str) -> str:
    return hashlib.sha256(segment.encode(errors="surrogateescape")).hexdigest()[:32]


def find_edits(text: str, name: str, roots: tuple[str, ...]) -> Edits:
    """Returns the bodies in headers below the roots that the pass can do without, by the key of their segment."""
    bodies = BodyStripper(text, leaves_out_templates=name == "device").find_edits()
    found: Edits = {}
    refused: set[str] = set()
    at = 0
    for start, end, file in segments_of(text):
        while at < len(bodies) and bodies[at][0] < start:
            at += 1
        inside = []
        while at < len(bodies) and bodies[at][0] < end:
            if bodies[at][1] <= end:
                inside.append((bodies[at][0] - start, bodies[at][1] - start))
            at += 1
        if not file.startswith(roots):
            continue
        key = key_of(text[start:end])
        # The same text may stand in a class here and in a namespace there.
        if found.setdefault(key, inside) != inside:
            refused.add(key)
    return {key: inside for key, inside in found.items() if inside and key not in refused}


def without_edits(text: str, edits: Edits) -> str:
    """Returns the text without the bodies in segments that are known. Lines stay where they are."""
    parts, at = [], 0
    for start, end, _ in segments_of(text):
        for first, last in edits.get(key_of(text[start:end]), ()):
            parts += [text[at : start + first], ";", "\n" * text.count("\n", start + first, start + last)]
            at = start + last
    return "".join([*parts, text[at:]])


def take_bodies_out(preprocessed: Path, folder: Path) -> None:
    """Takes the bodies out of a preprocessed file of nvcc. `folder` has the files that write_notes() made."""
    name = next((name for ending, name in PASSES.items() if preprocessed.name.endswith(ending)), "")
    notes = folder / f"{name}.edits"
    if name and preprocessed.exists() and notes.exists():
        text = preprocessed.read_text(errors="surrogateescape")
        edits = json.loads(notes.read_text())
        preprocessed.write_text(without_edits(text, edits), errors="surrogateescape")


def has_notes(folder: Path) -> bool:
    return all((folder / f"{name}.edits").exists() for name in PASSES.values())


def write_notes(preprocessed: Path, folder: Path, roots: tuple[str, ...]) -> None:
    name = next(name for ending, name in PASSES.items() if preprocessed.name.endswith(ending))
    text = preprocessed.read_text(errors="surrogateescape")
    (folder / f"{name}.edits").write_text(json.dumps(find_edits(text, name, roots)))
