"""The sections of ELF files of 64 bits: of cubins and of libraries."""

import struct
from dataclasses import dataclass

SECTIONS_MAX = 65_000


@dataclass(frozen=True)
class Section:
    address: int  # in a library, as it is linked
    offset: int  # in the file
    size: int  # in bytes


def sections(file: bytes | memoryview) -> dict[str, Section]:
    """Returns the sections by name. Raises ValueError, IndexError or struct.error for a damaged file."""
    if bytes(file[:6]) != b"\x7fELF\x02\x01":
        raise ValueError("not an ELF file of 64 bits, lowest byte first")
    (table,) = struct.unpack_from("<Q", file, 40)
    size, count, names_index = struct.unpack_from("<HHH", file, 58)
    if not 0 < count < SECTIONS_MAX:
        raise ValueError("it has no sections")
    rows = [struct.unpack_from("<IIQQQQ", file, table + size * index) for index in range(count)]
    names = bytes(file[rows[names_index][4] :][: rows[names_index][5]])
    return {
        names[name : names.index(b"\0", name)].decode("ascii", errors="replace"): Section(address, offset, length)
        for name, _, _, address, offset, length in rows
    }
