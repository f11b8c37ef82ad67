"""Decides which compiler flags of a submission are passed on: those that choose how code is generated.

A flag that names other programs or their parts is refused with a sentence about the flag. The code is compiled for the
device's architecture, whatever the submission asks for, except for variants of that architecture ("sm_90a") that allow
more instructions.

A refused flag ends the job, because torch might have built the call. A flag that no compiler knows, and an architecture
that nvcc no longer has, are errors of the submission instead, which it may catch. refused_by_compiler() finds them by
dry runs, which check flags and start no program.
"""

import re
import subprocess
from dataclasses import dataclass, field

from harness.extensions.loader_call import Call
from harness.extensions.toolchain import Toolchain

DRY_RUN_SECONDS_MAX = 20

WORD = r"[A-Za-z_][A-Za-z0-9_]*"
# nvcc passes values to a shell in double quotes, so no other characters are allowed
VALUE = r"[A-Za-z0-9_.,:/+*=@%^~-]*"
DEFINE = rf"-[DU]{WORD}(={VALUE})?"
# Flags that change how the source is read are not allowed, because the guard has read the source already.
HOST = re.compile(
    r"-O([0-3sgz]|fast)?|-g[0-3]?|-std=(c|gnu)\+\+\w+|"
    rf"-[DU]{WORD}(=[^\s]*)?|"
    r"-f(?!plugin|dump|profile|file-prefix|debug-prefix|macro-prefix|use-ld|sanitize|compare-debug|self-test|lto|"
    r"diagnostics|random-seed|pre-include|pch|(input|exec|wide-exec)-charset|preprocessed|directives-only|module|"
    r"no-diagnostics)[a-z0-9-]+(=[A-Za-z0-9_.-]+)?|"
    r"-m[a-z0-9.-]+(=[A-Za-z0-9_.+-]+)?|-W[a-z0-9+-]*(=[A-Za-z0-9_-]+)?|-w|"
    r"-pthread|-pedantic|-pipe|-fPIC|-fopenmp|-ansi"
)
DEVICE = re.compile(
    r"-O[0-3]?|-g|-G|-std=c\+\+\w+|--std=c\+\+\w+|"
    rf"{DEFINE}|"
    r"--?use_fast_math|--expt-(relaxed-constexpr|extended-lambda)|--extended-lambda|-expt-\w[\w-]*|"
    r"-lineinfo|--generate-line-info|--?fmad=(true|false)|--?ftz=(true|false)|--?prec-(div|sqrt)=(true|false)|"
    r"--?maxrregcount=?\d*|--restrict|-restrict|"
    r"--?extra-device-vectorization|-m64|--?default-stream=legacy|-Xptxas=[\w,=-]+|"
    r"-Xcudafe=--(diag_suppress=[\w,]+|display_error_number)|"
    r"-Wno-[\w-]+|-w|--disable-warnings|--ptxas-options=[\w,=-]+|--resource-usage|-res-usage|"
    r"-diag-suppress=?[\d,]*|--diag-suppress=?[\d,]*|"
    r"-allow-unsupported-compiler|--allow-unsupported-compiler|--dopt=?\w*|-split-compile=?\d*|--split-compile=?\d*"
)
# Flags whose value is the next word.
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
    "-default-stream",
    "--default-stream",
)
# The same for the host's compiler. A value may also follow the flag without a blank.
HOST_PAIRS = ("-I", "-isystem", "-D", "-U")
ARCH = ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code")
# Compilers ignore libraries where they do not link.
LIBRARY = re.compile(rf"-l[A-Za-z0-9_.+-]+|-L{VALUE}")
IGNORED = re.compile(
    r"(-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code|-t|--threads)=?.*|"
    r"-v|--verbose|-keep|--keep|-ccbin=?$|-c|-shared|-rdc=false|-MMD|-Wl,.*|-time|--time|"
    r"-f(no-)?diagnostics-color(=\w+)?"
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
    "-default-stream": re.compile("legacy"),
    "--default-stream": re.compile("legacy"),
}
LINK = re.compile(
    rf"{LIBRARY.pattern}|"
    rf"-Wl,(--no-as-needed|--as-needed|-rpath[,=](\$ORIGIN)?{VALUE}|--no-undefined|--strip-all|-s|-z,\w+|-O\d)|"
    r"-pthread|-fopenmp|-s|-O\d"
)


class BadFlag(Exception):
    """A flag is not passed on; the text is one sentence."""


@dataclass
class Flags:
    host: list[str] = field(default_factory=list)
    device: list[str] = field(default_factory=list)
    device_host: list[str] = field(default_factory=list)  # flags of -Xcompiler, for the host side of a .cu
    includes: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    arch: str = ""


def read(cflags: list[str], cuda_cflags: list[str], ldflags: list[str], include_paths: list[str], arch: str) -> Flags:
    found = Flags(arch=arch, includes=list(include_paths))
    for flag in joined(list(words(cflags)), HOST_PAIRS):
        accept_host_flag(flag, "extra_cflags", found.host, found)
    accept_device_flags(list(words(cuda_cflags)), found)
    for flag in link_flags(list(words(ldflags))):
        if not LINK.fullmatch(flag):
            raise BadFlag(f"extra_ldflags: {flag[:80]!r} is not passed on; take libraries by -l and directories by -L")
        found.link.append(flag)
    for path in found.includes:
        check_plain_path(path, "include path")
    return found


def check_plain_path(path: str, what: str) -> None:
    """Raises BadFlag for a path with characters that mean something to a shell, because nvcc passes paths to one."""
    if strange := re.search(r"[^\w ./+@=,:%^~-]", path):
        raise BadFlag(
            f"the {what} {path[:80]!r} is not passed on for its {strange.group()!r}; "
            "letters, digits, blanks and _./+@=,:%^~- are fine"
        )


def words(flags: list[str]) -> list[str]:
    """Splits flags at blanks, as torch does, so that one string may hold several."""
    return [word for flag in flags for word in flag.split()]


def joined(flags: list[str], pairs: tuple[str, ...]) -> list[str]:
    """Returns the flags, those of `pairs` together with their value in one word: "-isystem" "include"."""
    rest = iter(flags)
    return [flag + next(rest, "") if flag in pairs else flag for flag in rest]


def link_flags(flags: list[str]) -> list[str]:
    """Returns flags of the linker in one form: "-Wl,-rpath" "-Wl,lib" and "-Xlinker" words as "-Wl,-rpath,lib"."""
    rest = iter(flags)
    found: list[str] = []
    for flag in rest:
        word = "-Wl," + next(rest, "") if flag == "-Xlinker" else flag
        if found and found[-1] == "-Wl,-rpath" and word.startswith("-Wl,"):
            found[-1] += word.removeprefix("-Wl")
        else:
            found.append(word)
    return found


def accept_host_flag(flag: str, where: str, to: list[str], found: Flags) -> None:
    if flag.startswith("-I") and len(flag) > 2:
        found.includes.append(flag[2:])
    elif flag.startswith("-isystem") and len(flag) > len("-isystem"):
        found.includes.append(flag.removeprefix("-isystem"))
    elif HOST.fullmatch(flag.replace("--std=", "-std=")):
        to.append(flag.replace("--std=", "-std="))  # one spelling, so that value_of() finds the standard again
    elif not IGNORED.fullmatch(flag) and not LIBRARY.fullmatch(flag):
        raise BadFlag(
            f"{where}: {flag[:80]!r} is not passed on; "
            "take flags that choose how code is generated, as -O3, -D, -std, -f, -m and -W"
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
                        f"extra_cuda_cflags: -Xcompiler {part[:80]!r} is not passed on: nvcc gives it to a shell; "
                        "define letters, digits and _.,:/+*=@%^~- alone"
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
        elif not LIBRARY.fullmatch(flag):
            raise BadFlag(
                f"extra_cuda_cflags: {(flag if flag not in PAIRS else flag + ' ' + value)[:80]!r} is not passed on; "
                "take flags that choose how code is generated, "
                "as -O3, --use_fast_math, -D, -std, -lineinfo, --maxrregcount and -Xptxas"
            )


def accept_arch_variant(value: str, found: Flags) -> None:
    """Accepts "arch=compute_90a,code=sm_90a" for an sm_90, so that instructions of that variant may be used."""
    for number in re.findall(r"(?:sm|compute)_(\d+[af])\b", value):
        if found.arch == f"sm_{number[:-1]}":
            found.arch = f"sm_{number}"


def value_of(name: str, flags: list[str]) -> str:
    """Returns the value of the last flag that begins with `name`, such as -O or -std."""
    return next((flag.removeprefix(name) for flag in reversed(flags) if flag.startswith(name)), "")


def refused_by_compiler(tools: Toolchain, call: Call) -> str:
    """Returns what a compiler prints about the flags of the call that it refuses, or an empty text."""
    if not is_doubtful(call):
        return ""
    text = dry_run([tools.cxx, "-###", *call.cflags, "-x", "c++", "-c", "/dev/null"]) if tools.cxx else ""
    if not text and tools.nvcc and call.with_cuda:
        text = dry_run([tools.nvcc, "--dryrun", *call.cuda_cflags, "-x", "cu", "-c", "/dev/null"])
    return text


def is_doubtful(call: Call) -> bool:
    """Returns whether kq does not pass on a flag of the call, or replaces the architecture that the call names."""
    if any(flag.startswith(ARCH) for flag in call.cuda_cflags):
        return True
    try:
        read(call.cflags, call.cuda_cflags, [], [], "sm_90")
    except BadFlag:
        return True
    return False


def dry_run(command: list[str]) -> str:
    """Returns the error of a compiler's dry run: its first line with a message, or an empty text for none."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=DRY_RUN_SECONDS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stderr.decode(errors="replace").splitlines() if done.returncode != 0 else []
    return next((line.strip() for line in lines if "fatal" in line or "error:" in line), "")
