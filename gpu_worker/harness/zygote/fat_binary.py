"""The fat binaries of a library: how they are found and read, and what a copy with decompressed code looks like.

A fat binary is what nvcc makes of one source file: a header, then one entry for each architecture, whose code is an ELF
file or PTX. Two sections of a library are about them: .nv_fatbin holds the fat binaries, and .nvFatBinSegment holds one
wrapper for each, with its address. NVIDIA does not document the format. The fields below are those that nvcc 13.0
writes with --compress-mode none and with size. Other versions, and whatever does not fit together, raise ValueError.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from harness.kernels.elf import Section

WRAPPER = struct.Struct("<IIQQ")  # magic, version, address of the fat binary, null
WRAPPER_BEGIN = (0x466243B1, 1)
WRAPPER_POINTER = 8  # where the address lies in a wrapper
HEADER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
HEADER_BEGIN = (0xBA55ED50, 1)
# Kind, version, bytes of this header, bytes of the padded code, bytes of the compressed code or 0, an unknown field,
# version of the code (2), architecture, place of a name (2), flags, an unknown field, bytes of the decompressed code
# or 0.
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
PADDED, COMPRESSED, ARCHITECTURE, FLAGS, DECOMPRESSED = 3, 4, 8, 11, 13  # the places of those fields
ENTRY_VERSION = 0x101
PTX, ELF = 1, 2  # kinds
ZSTD = 0x8000  # the flag of code that zstd has compressed
ALIGNMENT = 8  # of fat binaries, entries and code
PADDING_MAX = 64  # bytes between two fat binaries


@dataclass(frozen=True)
class Entry:
    """One entry of a copy, and where its code lies in the library's file."""

    header: bytes  # of the copy
    offset: int  # of the code in the file
    stored: int  # bytes of the code in the file
    size: int  # bytes of the code in the copy, without padding
    is_compressed: bool  # in the file


@dataclass(frozen=True)
class Copy:
    """A fat binary that is to be copied, with what of it a GPU can run."""

    address: int  # of the original in the library, as it is linked
    header: bytes
    entries: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """The bytes of the copy."""
        return len(self.header) + sum(len(entry.header) + padded(entry.size) for entry in self.entries)


def padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def copies(file: memoryview, section: Section, architecture: int) -> list[Copy]:
    """Returns what to copy of the fat binaries in a section: those that have compressed code for a GPU of this
    architecture, like 90.
    """
    found = []
    at, end, padding = section.offset, section.offset + section.size, 0
    while at + HEADER.size <= end:
        magic, version, header_size, size = HEADER.unpack_from(file, at)
        if bytes(file[at : at + ALIGNMENT]) == bytes(ALIGNMENT) and padding < PADDING_MAX:
            at, padding = at + ALIGNMENT, padding + ALIGNMENT
            continue
        if (magic, version) != HEADER_BEGIN:
            raise ValueError(f"no fat binary of version {HEADER_BEGIN[1]} begins at {at}")
        padding = 0
        first, last = at + header_size, at + header_size + size
        if header_size < HEADER.size or (header_size | size) % ALIGNMENT or last > end:
            raise ValueError(f"the fat binary at {at} does not fit into its section")
        entries = tuple(chosen(file, list(raw_entries(file, first, last)), architecture))
        if any(entry.is_compressed for entry in entries):
            total = sum(len(entry.header) + padded(entry.size) for entry in entries)
            header = HEADER.pack(magic, version, header_size, total) + bytes(file[at + HEADER.size : first])
            found.append(Copy(section.address + at - section.offset, header, entries))
        at = last
    return found


def raw_entries(data: memoryview, at: int, end: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields where each entry of a fat binary lies, and the fields of its header."""
    while at < end:
        if at + ENTRY.size > end:
            raise ValueError(f"the entry at {at} ends beyond its fat binary")
        fields = ENTRY.unpack_from(data, at)
        yield at, fields
        header_size, size = fields[2], fields[PADDED]
        if fields[1] != ENTRY_VERSION:
            raise ValueError(f"the entry at {at} has version {fields[1]:#x}, and {ENTRY_VERSION:#x} is known")
        if header_size < ENTRY.size or (header_size | size) % ALIGNMENT or fields[COMPRESSED] > size:
            raise ValueError(f"the sizes of the entry at {at} do not fit together")
        if at + header_size + size > end:
            raise ValueError(f"the entry at {at} ends beyond its fat binary")
        at += header_size + size


def chosen(data: memoryview, raw: list[tuple[int, tuple[int, ...]]], architecture: int) -> Iterator[Entry]:
    """Yields the entries of a copy: PTX, and the code that a GPU of this architecture can run. The driver takes the
    latest of that code, so only that is decompressed.
    """
    runs = [
        fields[ARCHITECTURE]
        for _, fields in raw
        if fields[0] == ELF
        and fields[ARCHITECTURE] // 10 == architecture // 10
        and fields[ARCHITECTURE] <= architecture
    ]
    for at, fields in raw:
        header = bytes(data[at : at + fields[2]])
        code = at + fields[2]
        if fields[0] == ELF and fields[ARCHITECTURE] == max(runs, default=0) and fields[FLAGS] & ZSTD:
            copied = list(fields)
            copied[PADDED], copied[COMPRESSED] = padded(fields[DECOMPRESSED]), 0
            copied[FLAGS], copied[DECOMPRESSED] = fields[FLAGS] & ~ZSTD, 0
            header = ENTRY.pack(*copied) + header[ENTRY.size :]
            yield Entry(header, code, fields[COMPRESSED], fields[DECOMPRESSED], is_compressed=True)
        elif fields[0] == PTX or fields[ARCHITECTURE] in runs:
            yield Entry(header, code, fields[PADDED], fields[PADDED], is_compressed=False)
