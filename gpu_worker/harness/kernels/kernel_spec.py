"""The contract of a submission: X.json beside X.cu or X.py says which kernel, function or class is called, how it is
launched and with which arguments.

    {"kernel_name": "add",
     "launch": {"grid": {"x": 16}, "block": {"x": 256}, "shared_mem_bytes": 0},
     "args": [{"name": "x", "type": "tensor", "role": "input", "tensor_spec": {"shape": [4096], "dtype": "float32"}},
              {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4096]}},
              {"name": "n", "type": "int", "value": 4096}],
     "compiler_options": ["--use_fast_math"]}

"args" and "launch" may also lie inside "io", and names and "compiler_options" inside "metadata", as in the requests of
kernel evaluation servers. Other fields are ignored.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TYPES = ("tensor", "int", "float", "bool", "str")
ROLES = ("input", "output", "inout")
DTYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "uint16",
    "uint32",
    "uint64",
    "complex32",
)
SHAPE_MAX = 8
DIM_MAX = 2**31 - 1
WARPS = (1, 2, 4, 8, 16, 32)
STAGES_MAX = 32

# Flags that choose how code is generated. Flags that name files or other programs are not allowed.
OPTIONS = re.compile(
    r"(--?use_fast_math|-lineinfo|--generate-line-info|"
    r"--?fmad=(true|false)|--?ftz=(true|false)|--?prec-(div|sqrt)=(true|false)|"
    r"--?maxrregcount=[0-9]{1,3}|--?std=c\+\+[0-9]{2}|"
    r"(-D|--define-macro=)[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+\-]*)?|"
    r"--extra-device-vectorization|--restrict|-w|--disable-warnings|-O[0-3]|--expt-relaxed-constexpr|"
    r"(-arch|--gpu-architecture)=(sm|compute)_[0-9]{2,3}[af]?|--ptxas-options=[A-Za-z0-9_,=-]+)"
)
OPTIONS_WORDS = (
    "--use_fast_math, -lineinfo, --fmad=, --ftz=, --prec-div=, --prec-sqrt=, --maxrregcount=, --std=, -D, -O, "
    "--ptxas-options="
)
# The code is compiled for the device's architecture, whatever is asked for, except for a variant of that architecture.
ARCH = re.compile(r"(-arch|--gpu-architecture)=(sm|compute)_(?P<number>[0-9]{2,3})(?P<letter>[af]?)")
OF_NVCC_ALONE = re.compile(rf"-O[0-3]|--expt-relaxed-constexpr|{ARCH.pattern}")
COMPILERS = ("nvrtc", "nvcc")
EXPRESSIONS_MAX = 64
# A name, or an instance of a template. The characters allow no end of the expression and no second one.
EXPRESSION = re.compile(r"[A-Za-z_][\w:<>, *&.+-]{0,400}")


class BadSpec(Exception):
    """The contract is wrong; the text says what, where, and what would be right."""


@dataclass(frozen=True)
class Arg:
    name: str
    type: str
    role: str
    value: Any
    dtype: str  # empty: not given
    shape: tuple[int, ...] | None  # None: not given
    is_meta: bool = False  # a constant that triton compiles into the kernel


@dataclass(frozen=True)
class Names:
    """The names that the contract gives; None for those that it does not give."""

    kernel: str | None = None
    function: str | None = None
    class_: str | None = None
    method: str | None = None
    entry_point: str | None = None


@dataclass(frozen=True)
class KernelSpec:
    kernel_name: str | None  # None: the first __global__ function of the source
    args: tuple[Arg, ...] | None  # None: not given
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_mem_bytes: int
    compiler_options: tuple[str, ...]
    names: Names = Names()
    num_warps: int | None = None
    num_stages: int | None = None
    name_expressions: tuple[str, ...] = ()  # instances of templates
    compiler: str = COMPILERS[0]
    takes_named: bool = False  # the last argument of forward() is a dict, whose members are passed by name

    @property
    def passed_to_nvcc(self) -> list[str]:
        return [option for option in self.compiler_options if not ARCH.fullmatch(option)]


def spec_path(entry: Path) -> Path:
    return entry.with_suffix(".json")


def read_spec(path: Path) -> KernelSpec:
    """Reads the contract of a CUDA kernel, which must have arguments. Raises BadSpec."""
    spec = read_names(path)
    if spec is None:
        raise BadSpec(f"{path.name}: a CUDA kernel needs this file to say how it is launched")
    if spec.args is None:
        raise BadSpec(f"{path.name}: args is null, expected a list of arguments")
    for arg in spec.args:
        if arg.type == "str":
            raise BadSpec(
                f"{path.name}: argument {arg.name} is a str, which no CUDA kernel takes; "
                f"expected {', '.join(TYPES[:-1])}"
            )
    return spec


def read_names(path: Path) -> KernelSpec | None:
    """Reads the contract of a Python file; None without one. Raises BadSpec."""
    try:
        raw = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadSpec(f"{path.name}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise BadSpec(f"{path.name}: is no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise BadSpec(f"{path.name}: is no object")
    return _Reader(path.name, raw).spec()


class _Reader:
    def __init__(self, file: str, raw: dict[str, Any]) -> None:
        self._file = file
        self._raw = raw

    def spec(self) -> KernelSpec:
        io = self._object(self._raw, "io")
        metadata = self._object(self._raw, "metadata")
        launch = self._object(self._raw if "launch" in self._raw else io, "launch")
        args = self._raw.get("args", io.get("args"))
        options = self._raw.get("compiler_options", metadata.get("compiler_options")) or []
        self._need(args is None or isinstance(args, list), "args", args, "a list of arguments")
        names = {}
        for key in ("kernel_name", "function_name", "class_name", "method_name", "entry_point"):
            names[key] = self._raw.get(key, metadata.get(key))
            self._need(names[key] is None or isinstance(names[key], str), key, names[key], "a name")
        self._need(isinstance(options, list), "compiler_options", options, "a list of texts")
        expressions = self._raw.get("name_expressions", metadata.get("name_expressions")) or []
        right = isinstance(expressions, list) and len(expressions) <= EXPRESSIONS_MAX
        self._need(right, "name_expressions", expressions, f"a list of at most {EXPRESSIONS_MAX} names")
        for name in [*expressions, *([names["kernel_name"]] if names["kernel_name"] is not None else [])]:
            fits = isinstance(name, str) and EXPRESSION.fullmatch(name)
            self._need(
                bool(fits),
                "name_expressions" if name in expressions else "kernel_name",
                name,
                'a name such as "add" or "add<float, 4>"',
            )
        compiler = self._raw.get("compiler", metadata.get("compiler", metadata.get("backend"))) or COMPILERS[0]
        self._need(compiler in COMPILERS, "compiler", compiler, f"one of {', '.join(COMPILERS)}")
        takes_named = self._raw.get("takes_named", False)
        self._need(isinstance(takes_named, bool), "takes_named", takes_named, "true or false")
        for option in options:
            allowed = isinstance(option, str) and OPTIONS.fullmatch(option)
            self._need(bool(allowed), "compiler_options", option, f"one of {OPTIONS_WORDS}")
        return KernelSpec(
            kernel_name=names["kernel_name"],
            args=None if args is None else tuple(self._arg(arg, i) for i, arg in enumerate(args)),
            grid=self._dims(launch, "grid", 1),
            block=self._dims(launch, "block", 256),
            shared_mem_bytes=self._int(launch.get("shared_mem_bytes", 0), "launch.shared_mem_bytes", 0),
            compiler_options=tuple(options),
            names=Names(*names.values()),
            name_expressions=tuple(expressions),
            compiler=compiler,
            takes_named=takes_named,
            num_warps=self._choice(launch.get("num_warps"), "launch.num_warps", WARPS),
            num_stages=self._choice(launch.get("num_stages"), "launch.num_stages", range(1, STAGES_MAX + 1)),
        )

    def _arg(self, raw: Any, index: int) -> Arg:
        where = f"args[{index}]"
        self._need(isinstance(raw, dict), where, raw, "an object")
        name, kind, role = raw.get("name"), raw.get("type"), raw.get("role", "input")
        self._need(isinstance(name, str) and bool(name), f"{where}.name", name, "a name")
        self._need(kind in TYPES, f"{where}.type", kind, f"one of {', '.join(TYPES)}")
        self._need(role in ROLES, f"{where}.role", role, f"one of {', '.join(ROLES)}")
        self._need(kind == "tensor" or role == "input", f"{where}.role", role, "input: only tensors can be written to")
        spec = self._object(raw, "tensor_spec")
        # A tensor without a spec has the dtype that the problem gives it.
        unsaid = "" if kind == "tensor" and not spec else "float32"
        dtype = spec.get("dtype", raw.get("dtype", unsaid))
        dtype = dtype.removeprefix("torch.") if isinstance(dtype, str) else dtype
        self._need(
            dtype in DTYPES or dtype == unsaid, f"{where}.tensor_spec.dtype", dtype, f"one of {', '.join(DTYPES)}"
        )
        is_meta = raw.get("is_meta", False)
        self._need(isinstance(is_meta, bool), f"{where}.is_meta", is_meta, "true or false")
        return Arg(
            name, kind, role, self._value(raw.get("value"), kind, where), dtype, self._shape(spec, where), is_meta
        )

    def _value(self, value: Any, kind: str, where: str) -> Any:
        if value is None or kind == "tensor":
            return None
        wanted: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
        self._need(
            isinstance(value, wanted[kind]) and (kind == "bool") == isinstance(value, bool),
            f"{where}.value",
            value,
            f"of type {kind}",
        )
        if kind == "int":
            self._need(-(2**63) <= value < 2**63, f"{where}.value", value, "an integer of 64 bits")
        return value

    def _shape(self, spec: dict[str, Any], where: str) -> tuple[int, ...] | None:
        shape = spec.get("shape")
        if shape is None:
            return None
        right = (
            isinstance(shape, list)
            and len(shape) <= SHAPE_MAX
            and all(type(size) is int and size >= 0 for size in shape)
        )
        self._need(right, f"{where}.tensor_spec.shape", shape, f"a list of at most {SHAPE_MAX} sizes")
        return tuple(shape)

    def _dims(self, launch: dict[str, Any], name: str, x: int) -> tuple[int, int, int]:
        raw = launch.get(name, {})
        if isinstance(raw, list):
            raw = dict(zip("xyz", raw))
        self._need(isinstance(raw, dict), f"launch.{name}", raw, "an object with x, y and z")
        sizes = [
            self._int(raw.get(axis, x if axis == "x" and not raw else 1), f"launch.{name}.{axis}", 1) for axis in "xyz"
        ]
        return sizes[0], sizes[1], sizes[2]

    def _int(self, value: Any, where: str, least: int) -> int:
        self._need(
            type(value) is int and least <= value <= DIM_MAX, where, value, f"a whole number of at least {least}"
        )
        return int(value)

    def _choice(self, value: Any, where: str, known: Any) -> int | None:
        words = f"{known[0]} to {known[-1]}" if isinstance(known, range) else ", ".join(map(str, known))
        self._need(value is None or (type(value) is int and value in known), where, value, f"one of {words}")
        return None if value is None else int(value)

    def _object(self, raw: dict[str, Any], name: str) -> dict[str, Any]:
        value = raw.get(name)
        self._need(value is None or isinstance(value, dict), name, value, "an object")
        return value or {}

    def _need(self, holds: bool, where: str, got: Any, wanted: str) -> None:
        if not holds:
            words = json.dumps(got)
            raise BadSpec(
                f"{self._file}: {where} is {words if len(words) < 100 else words[:100] + '...'}, expected {wanted}"
            )
