"""Which compiler flags of a submission are passed on: those that choose how code is generated.

What names other programs or their parts is refused in one sentence, by the flag; the architecture is the device's, whatever a submission asks
for, but for the variants of it ("sm_90a") that unlock instructions.
"""

import re
from dataclasses import dataclass, field

WORD = r"[A-Za-z_][A-Za-z0-9_]*"
VALUE = r"[A-Za-z0-9_.,:/+*=@%^~-]*"  # nvcc gives what it is told to a shell, in double quotes
DEFINE = rf"-[DU]{WORD}(={VALUE})?"
# What says how the source is to be read is not among them: it was read already, by the guard.
HOST = re.compile(
    rf"-O([0-3sgz]|fast)?|-g[0-3]?|-std=(c|gnu)\+\+\w+|-[DU]{WORD}(=[^\s]*)?|-f(?!plugin|dump|profile|file-prefix|debug-prefix|macro-prefix|use-ld|sanitize|compare-debug|"
    r"self-test|lto|diagnostics|random-seed|pre-include|pch|(input|exec|wide-exec)-charset|preprocessed|directives-only|module|no-diagnostics)[a-z0-9-]+(=[A-Za-z0-9_.-]+)?|-m[a-z0-9.-]+(=[A-Za-z0-9_.+-]+)?|-W[a-z0-9+-]*(=[A-Za-z0-9_-]+)?|-w|"
    r"-pthread|-pedantic|-pipe|-fPIC|-fopenmp|-ansi"
)
DEVICE = re.compile(
    rf"-O[0-3]?|-g|-G|-std=c\+\+\w+|--std=c\+\+\w+|{DEFINE}|--?use_fast_math|--expt-(relaxed-constexpr|extended-lambda)|--extended-lambda|-expt-\w[\w-]*|"
    r"-lineinfo|--generate-line-info|--?fmad=(true|false)|--?ftz=(true|false)|--?prec-(div|sqrt)=(true|false)|--?maxrregcount=?\d*|--restrict|-restrict|"
    r"--?extra-device-vectorization|-m64|--?default-stream=legacy|-Xptxas=[\w,=-]+|-Xcudafe=--(diag_suppress=[\w,]+|display_error_number)|-Wno-[\w-]+|-w|--disable-warnings|--ptxas-options=[\w,=-]+|--resource-usage|-res-usage|-diag-suppress=?[\d,]*|--diag-suppress=?[\d,]*|"
    r"-allow-unsupported-compiler|--allow-unsupported-compiler|--dopt=?\w*|-split-compile=?\d*|--split-compile=?\d*"
)
# Flags with their value in the next word.
PAIRS = (
    "-Xptxas",
    "--ptxas-options",
    "-Xcompiler",
    "--compiler-options",
    "-gencode",
    "--generate-code",
    "-arch",
    "--gpu-architecture",
    "-code",
    "--maxrregcount",
    "-maxrregcount",
    "-diag-suppress",
    "--diag-suppress",
    "-std",
    "--std",
    "-t",
    "--threads",
    "-Xcudafe",
    "-isystem",
    "-I",
    "-D",
    "-O",
    "-Xfatbin",
    "-Xnvlink",
)
ARCH = ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code")
IGNORED = re.compile(
    r"(-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code|-t|--threads)=?.*|-v|--verbose|-keep|--keep|-ccbin=?$|-c|-shared|-rdc=false|-MMD|-Wl,.*|-time|--time|-f(no-)?diagnostics-color(=\w+)?"
)
PASSED_VALUES = {
    "-Xptxas": re.compile(r"[\w,=-]+"),
    "--ptxas-options": re.compile(r"[\w,=-]+"),
    "--maxrregcount": re.compile(r"\d+"),
    "-maxrregcount": re.compile(r"\d+"),
    "-diag-suppress": re.compile(r"[\d,]+"),
    "--diag-suppress": re.compile(r"[\d,]+"),
    "-std": re.compile(r"c\+\+\w+"),
    "--std": re.compile(r"c\+\+\w+"),
    "-D": re.compile(rf"{WORD}(={VALUE})?"),
    "-O": re.compile(r"[0-3]"),
    "-Xcudafe": re.compile(r"--diag_suppress=[\w,]+|--display_error_number"),
    "-Xfatbin": re.compile(r"-compress-all|--?compress(=\w+|-all)?"),
}
LINK = re.compile(
    rf"-l[A-Za-z0-9_.+-]+|-L{VALUE}|-Wl,(--no-as-needed|--as-needed|-rpath,(\$ORIGIN)?{VALUE}|--no-undefined|--strip-all|-s|-z,\w+|-O\d)|-pthread|-fopenmp|-s|-O\d"
)


class BadFlag(Exception):
    """A flag that is not passed on, in one sentence."""


@dataclass
class Flags:
    host: list[str] = field(default_factory=list)
    device: list[str] = field(default_factory=list)
    device_host: list[str] = field(default_factory=list)  # of -Xcompiler: for the host side of a .cu
    includes: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    arch: str = ""


def read(cflags: list[str], cuda_cflags: list[str], ldflags: list[str], include_paths: list[str], arch: str) -> Flags:
    found = Flags(arch=arch, includes=list(include_paths))
    for flag in words(cflags):
        accept_host_flag(flag, "extra_cflags", found.host, found)
    accept_device_flags(list(words(cuda_cflags)), found)
    for flag in words(ldflags):
        if not LINK.fullmatch(flag):
            raise BadFlag(f"extra_ldflags: {flag[:80]!r} is not passed on; take libraries by -l and directories by -L")
        found.link.append(flag)
    for path in found.includes:
        check_plain_path(path, "include path")
    return found


def check_plain_path(path: str, what: str) -> None:
    """A name that means nothing to a shell, to which nvcc gives it."""
    if strange := re.search(r"[^\w ./+@=,:%^~-]", path):
        raise BadFlag(
            f"the {what} {path[:80]!r} is not passed on for its {strange.group()!r}; letters, digits, blanks and _./+@=,:%^~- are fine"
        )


def words(flags: list[str]) -> list[str]:
    """torch joins flags with blanks, so that one string may hold several."""
    return [word for flag in flags for word in flag.split()]


def accept_host_flag(flag: str, where: str, to: list[str], found: Flags) -> None:
    if flag.startswith("-I") and len(flag) > 2:
        found.includes.append(flag[2:])
    elif HOST.fullmatch(flag.replace("--std=", "-std=")):
        to.append(flag.replace("--std=", "-std="))  # by which the standard that is asked for is found again
    elif not IGNORED.fullmatch(flag):
        raise BadFlag(
            f"{where}: {flag[:80]!r} is not passed on; take flags that choose how code is generated, as -O3, -D, -std, -f, -m and -W"
        )


def accept_device_flags(flags: list[str], found: Flags) -> None:
    rest = iter(flags)
    for flag in rest:
        name, _, value = flag.partition("=")
        if flag in PAIRS:
            name, value = flag, next(rest, "")
        if name in ARCH:
            accept_arch_variant(value, found)
        elif name in ("-Xcompiler", "--compiler-options"):
            for part in value.strip("'\"").split(","):
                if part.startswith(("-D", "-U")) and not re.fullmatch(DEFINE, part):
                    raise BadFlag(
                        f"extra_cuda_cflags: -Xcompiler {part[:80]!r} is not passed on: nvcc gives it to a shell; define letters, digits and _.,:/+*=@%^~- alone"
                    )
                accept_host_flag(part, "extra_cuda_cflags", found.device_host, found)
        elif name in ("-isystem", "-I") and value:
            found.includes.append(value)
        elif flag.startswith("-I"):
            found.includes.append(flag[2:])
        elif name in ("-t", "--threads") or IGNORED.fullmatch(flag):
            continue
        elif flag in PAIRS and name in PASSED_VALUES and PASSED_VALUES[name].fullmatch(value):
            found.device += [flag, value]
        elif flag not in PAIRS and DEVICE.fullmatch(flag):
            found.device.append(flag)
        else:
            raise BadFlag(
                f"extra_cuda_cflags: {(flag if flag not in PAIRS else flag + ' ' + value)[:80]!r} is not passed on; take flags that choose how code is "
                "generated, as -O3, --use_fast_math, -D, -std, -lineinfo, --maxrregcount and -Xptxas"
            )


def accept_arch_variant(value: str, found: Flags) -> None:
    """ "arch=compute_90a,code=sm_90a" for an sm_90: its own instructions may be used."""
    for number in re.findall(r"(?:sm|compute)_(\d+[af])\b", value):
        if found.arch == f"sm_{number[:-1]}":
            found.arch = f"sm_{number}"


def value_of(name: str, flags: list[str]) -> str:
    """The last -O or -std among the flags, without its name."""
    return next((flag.removeprefix(name) for flag in reversed(flags) if flag.startswith(name)), "")
