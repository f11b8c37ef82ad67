"""Arguments and results of a model as trees: containers whose leaves are tensors, numbers and constants.

Only tensors, and numbers that may differ from call to call, travel through the rows of the page's tables. Containers
and constants travel once, at `load`, as a JSON text that the reference writes into the page and the submission child
parses. The text names a closed set of kinds, so that reading it runs no code of the problem:

    [parts[0], parts[1]], 1     {"names": ["parts", "dim"], "values": [{"list": [{"row": 0}, {"row": 1}]}, {"row": 2}]}

A call whose arguments are all tensors and plain numbers, or that returns only tensors, has no text. Leaves are named as
torch.utils._pytree.keystr names them: parts[0], out1.h, out['loss'].
"""

import json
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch

from harness.children.failures import Failed
from harness.children.page import TREE_MAX, Failure

DEPTH_MAX = 32  # containers within containers
WORDS_MAX = 80  # of a value in a message

Maker = Callable[[Sequence[Any]], Any]  # makes a value from the values of the rows


class Leaves(list[Any]):
    """The tensors of a result in the order of the reference's rows, as a contract's kernel writes them."""


# --- constants

NUMPY_SCALARS = (numpy.bool_, numpy.number)
NUMPY_KINDS = "biufc"
CONSTANTS = "None, numbers, strings, dtypes, devices, layouts, memory formats, sizes, slices and numpy scalars"
TORCH_CONSTANTS: dict[str, type] = {
    "dtype": torch.dtype,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
}


def constant_node(value: Any) -> Any:
    """Returns the constant as JSON. Raises TypeError for a value of another kind."""
    if isinstance(value, NUMPY_SCALARS) and value.dtype.kind in NUMPY_KINDS:
        return {"numpy": [value.dtype.name, constant_node(value.item())]}
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return {"int": str(value)}
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, torch.Size):
        return {"size": [int(size) for size in value]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if type(value) is slice:
        return {"slice": [constant_node(part) for part in (value.start, value.stop, value.step)]}
    for kind, of in TORCH_CONSTANTS.items():
        if isinstance(value, of):
            return {kind: str(value).removeprefix("torch.")}
    raise TypeError(type(value).__name__)


def constant_of(node: Any) -> Any:
    """Returns the constant that constant_node() has described. Raises ValueError for anything else."""
    if node is None or isinstance(node, (bool, str)):
        return node
    kind, content = only_item(node)
    match kind:
        case "int":
            return int(content)
        case "float":
            return float.fromhex(content)
        case "complex":
            return complex(float.fromhex(content[0]), float.fromhex(content[1]))
        case "size":
            return torch.Size([int(size) for size in content])
        case "device":
            return torch.device(content)
        case "slice":
            return slice(*(constant_of(part) for part in content))
        case "numpy":
            dtype = numpy.dtype(content[0])
            if dtype.kind not in NUMPY_KINDS:
                raise ValueError(f"a numpy scalar of {dtype} is no constant that is known")
            return dtype.type(constant_of(content[1]))
    value = getattr(torch, content, None) if kind in TORCH_CONSTANTS else None
    if value is None or not isinstance(value, TORCH_CONSTANTS[kind]):
        raise ValueError(f"{kind} {content!r} is no constant that is known")
    return value


def only_item(node: Any) -> tuple[str, Any]:
    if not isinstance(node, dict) or len(node) != 1:
        raise ValueError(f"{words_of(node)} describes no value")
    return next(iter(node.items()))


def are_equal(a: Any, b: Any) -> bool:
    """Returns whether two constants are equal. NaN is equal to NaN, and 1 is not equal to True."""
    try:
        return bool(constant_node(a) == constant_node(b))
    except TypeError:
        return False


def words_of(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WORDS_MAX else text[:WORDS_MAX] + "..."


# --- describing


def is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


class Description:
    """Describes values as JSON and collects the leaves that get rows. `is_result` chooses which: of arguments the
    tensors and the plain numbers that are arguments themselves, of a result the tensors and all numbers.
    """

    def __init__(self, is_result: bool) -> None:
        self.rows: list[tuple[str, Any]] = []
        self._is_result = is_result

    def node(self, name: str, value: Any, depth: int = 0) -> Any:
        if depth > DEPTH_MAX:
            raise TypeError(f"{name} lies in more than {DEPTH_MAX} containers")
        if isinstance(value, torch.Tensor):
            return {"row": self._add(name, value)}
        if isinstance(value, numpy.ndarray):
            return {"array": self._add(name, tensor_of(name, value))}
        if isinstance(value, torch.Size):
            return constant_node(value)
        if isinstance(value, Mapping):
            kind = "ordered" if isinstance(value, OrderedDict) else "dict"
            return {
                kind: [[self._key(name, key), self.node(f"{name}[{key!r}]", v, depth + 1)] for key, v in value.items()]
            }
        if is_namedtuple(value):
            fields = list(type(value)._fields)
            nodes = [self.node(f"{name}.{field}", v, depth + 1) for field, v in zip(fields, value)]
            return {"named": [type(value).__name__, fields, nodes]}
        if isinstance(value, (list, tuple)):
            item_name = "out{}" if self._is_result and depth == 0 else name + "[{}]"
            nodes = [self.node(item_name.format(i), v, depth + 1) for i, v in enumerate(value)]
            return {"list" if isinstance(value, list) else "tuple": nodes}
        return self._plain_node(name, value, depth)

    def _plain_node(self, name: str, value: Any, depth: int) -> Any:
        if self._is_result and (isinstance(value, NUMPY_SCALARS) or type(value) in (bool, int, float, complex)):
            return {"number": [self._add(name, value), type(value).__name__]}
        if not self._is_result and depth == 0 and is_plain_argument(value):
            return {"row": self._add(name, value)}
        try:
            return constant_node(value)
        except TypeError:
            raise TypeError(
                f"{name} is a {type(value).__name__}; possible are tensors, numpy arrays, {CONSTANTS}, "
                "and lists, tuples, named tuples and dicts of them"
            ) from None

    def _add(self, name: str, value: Any) -> int:
        self.rows.append((name, value))
        return len(self.rows) - 1

    def _key(self, name: str, key: Any) -> Any:
        try:
            return constant_node(key)
        except TypeError:
            raise TypeError(f"{name} has a key of type {type(key).__name__}; keys are {CONSTANTS}") from None


def is_plain_argument(value: Any) -> bool:
    """Returns whether a row of the table of inputs can describe the value."""
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, torch.Tensor) or type(value) in (bool, float)


def tensor_of(name: str, array: "numpy.ndarray[Any, Any]") -> torch.Tensor:
    try:
        return torch.from_numpy(numpy.require(array, requirements=["W"]))
    except (TypeError, ValueError):
        return _copied_array(name, array)


def _copied_array(name: str, array: "numpy.ndarray[Any, Any]") -> torch.Tensor:
    try:
        return torch.from_numpy(numpy.ascontiguousarray(array))
    except TypeError:
        raise TypeError(f"{name} is a numpy array of {array.dtype}, which torch does not have") from None


def text_of(tree: Any, what: str) -> str:
    text = json.dumps(tree, separators=(",", ":"))
    if len(text) > TREE_MAX:
        raise ValueError(
            f"the containers and constants of {what} need {len(text)} bytes, at most {TREE_MAX} are possible"
        )
    return text


def describe_arguments(names: Sequence[str], values: Sequence[Any]) -> tuple[list[tuple[str, Any]], str]:
    """Returns the names and values of the rows, and the text. Raises TypeError or ValueError for what cannot travel."""
    if all(is_plain_argument(value) for value in values):
        return list(zip(names, values)), ""
    description = Description(is_result=False)
    nodes = [description.node(name, value) for name, value in zip(names, values)]
    return description.rows, text_of({"names": list(names), "values": nodes}, "get_inputs()")


def describe_result(result: Any) -> tuple[list[tuple[str, Any]], str]:
    several = result if isinstance(result, (tuple, list)) else [result]
    if all(isinstance(value, torch.Tensor) for value in several):
        return [(f"out{i}", value) for i, value in enumerate(several)], ""
    description = Description(is_result=True)
    node = description.node("out" if isinstance(result, Mapping) or is_namedtuple(result) else "out0", result)
    return description.rows, text_of(node, "the outputs")


# --- reading


def read_tree(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the description of a tree of values is no JSON: {error}") from error


class Arguments:
    """Builds the arguments of a call from the values of the rows. Containers are new for every call."""

    def __init__(self, text: bytes) -> None:
        tree = read_tree(text)
        self.names: list[str] = [str(name) for name in tree["names"]]
        self.has_arrays = False
        self._makers = [maker_of(node, self._note_array) for node in tree["values"]]

    def build(self, rows: Sequence[Any]) -> list[Any]:
        return [make(rows) for make in self._makers]

    def _note_array(self) -> None:
        self.has_arrays = True


class ResultForm:
    """Builds results in the form of one result of the model, from the values of the rows."""

    def __init__(self, result: Any) -> None:
        self._make = maker_of(Description(is_result=True).node("out0", result))

    def build(self, rows: Sequence[Any]) -> Any:
        return self._make(rows)


def maker_of(node: Any, note_array: Callable[[], None] = lambda: None, depth: int = 0) -> Maker:
    """Returns what makes the value that a node describes. `note_array` is called for each array of numpy."""
    if depth > DEPTH_MAX:
        raise ValueError(f"an argument has more than {DEPTH_MAX} containers within each other")
    if not isinstance(node, dict):
        return _always(constant_of(node))

    def makers(nodes: Sequence[Any]) -> list[Maker]:
        return [maker_of(item, note_array, depth + 1) for item in nodes]

    kind, content = only_item(node)
    match kind:
        case "row":
            return lambda rows: rows[content]
        case "array":
            note_array()
            return lambda rows: array_of(rows[content])
        case "number":
            return lambda rows: plain_number(rows[content[0]], content[1])
        case "list":
            items = makers(content)
            return lambda rows: [make(rows) for make in items]
        case "tuple":
            items = makers(content)
            return lambda rows: tuple([make(rows) for make in items])
        case "dict" | "ordered":
            pairs = [(constant_of(key), make) for (key, _), make in zip(content, makers([item for _, item in content]))]
            of = OrderedDict if kind == "ordered" else dict
            return lambda rows: of([(key, make(rows)) for key, make in pairs])
        case "named":
            name, fields, nodes = content
            items = makers(nodes)
            named = namedtuple(name, fields)  # type: ignore[misc]
            return lambda rows: named(*[make(rows) for make in items])
    return _always(constant_of(node))


def plain_number(value: torch.Tensor, kind: str) -> Any:
    """Returns a tensor of one element as a number of Python or numpy; `kind` is the name of its type."""
    number = value.item()
    return number if kind in NUMBER_KINDS else numpy.dtype(kind.rstrip("_")).type(number)


def _always(value: Any) -> Maker:
    return lambda _: value


def array_of(value: Any) -> Any:
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else value


class Result:
    """Takes what a call returned apart, as the reference's result is. Where the two differ in their form, take() raises
    Failed with one sentence about the first difference.
    """

    def __init__(self, text: bytes) -> None:
        self._tree = read_tree(text)

    def take(self, result: Any, dtypes: Sequence[torch.dtype]) -> list[Any]:
        """Returns the tensors of the rows; `dtypes` are those of the rows, for numbers."""
        if isinstance(result, Leaves):
            return list(result)
        found: list[Any] = []
        root = "out" if isinstance(self._tree, dict) and set(self._tree) <= {"dict", "ordered", "named"} else "out0"
        kind = next(iter(self._tree), "") if isinstance(self._tree, dict) else ""
        if kind not in ("list", "tuple", "named") and isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]  # (out,) where out is expected
        self._take(self._tree, root, result, found, dtypes, depth=0)
        return found

    def _take(
        self, node: Any, name: str, got: Any, found: list[Any], dtypes: Sequence[torch.dtype], depth: int
    ) -> None:
        kind: str = ""
        content: Any = None
        if isinstance(node, dict):
            kind, content = only_item(node)
        match kind:
            case "row":
                if not isinstance(got, torch.Tensor):
                    raise wrong_form(f"{name} is {sort_of(got)}, must be a tensor")
                found.append(got)
            case "array":
                if not isinstance(got, (torch.Tensor, numpy.ndarray)):
                    raise wrong_form(f"{name} is {sort_of(got)}, must be a numpy array")
                found.append(tensor_of(name, got) if isinstance(got, numpy.ndarray) else got)
            case "number":
                found.append(number_of(name, got, content[1], dtypes[content[0]]))
            case "list" | "tuple":
                item_name = "out{}" if depth == 0 else name + "[{}]"
                names = [item_name.format(i) for i in range(len(content))]
                self._take_items(content, names, name, got, found, dtypes, depth)
            case "named":
                self._take_items(content[2], [f"{name}.{f}" for f in content[1]], name, got, found, dtypes, depth)
            case "dict" | "ordered":
                self._take_dict(content, name, got, found, dtypes, depth)
            case _:
                expected = constant_of(node)
                if not are_equal(got, expected):
                    raise wrong_form(f"{name} is {sort_of(got)}, must be {words_of(expected)}")

    def _take_items(
        self,
        nodes: Sequence[Any],
        names: Sequence[str],
        name: str,
        got: Any,
        found: list[Any],
        dtypes: Sequence[torch.dtype],
        depth: int,
    ) -> None:
        whole = "the result" if depth == 0 else name
        if not isinstance(got, (list, tuple)):
            raise wrong_form(f"{whole} is {sort_of(got)}, must be a tuple or list of {len(nodes)}")
        if len(got) != len(nodes):
            raise wrong_form(f"{whole} has {len(got)} elements, must have {len(nodes)}")
        for node, item_name, item in zip(nodes, names, got):
            self._take(node, item_name, item, found, dtypes, depth + 1)

    def _take_dict(
        self, pairs: Sequence[Any], name: str, got: Any, found: list[Any], dtypes: Sequence[torch.dtype], depth: int
    ) -> None:
        keys = [constant_of(key) for key, _ in pairs]
        if not isinstance(got, Mapping):
            raise wrong_form(f"{name} is {sort_of(got)}, must be a dict with the keys {words_of(keys)}")
        for key in keys:
            if key not in got:
                raise wrong_form(f"{name} has no key {key!r}, which the reference's has")
        for key in got:
            if key not in keys:
                raise wrong_form(f"{name} has the key {words_of(key)}, which the reference's has not")
        for key, (_, node) in zip(keys, pairs):
            self._take(node, f"{name}[{key!r}]", got[key], found, dtypes, depth + 1)


NUMBER_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool, numpy.bool_),
    "int": (int, numpy.integer),
    "float": (float, int, numpy.floating, numpy.integer),
    "complex": (complex, float, int, numpy.number),
}


def number_of(name: str, got: Any, kind: str, dtype: torch.dtype) -> torch.Tensor:
    """Returns a number of a result as a tensor. A tensor stays as it is: the judge compares its dtype and shape."""
    if isinstance(got, torch.Tensor):
        return got
    python_kind = kind if kind in NUMBER_KINDS else numpy_kind(kind)
    is_right = isinstance(got, NUMBER_KINDS[python_kind]) and (python_kind == "bool" or not isinstance(got, bool))
    if not is_right:
        raise wrong_form(f"{name} is {sort_of(got)}, must be a number of type {python_kind}")
    try:
        return torch.tensor(got.item() if isinstance(got, numpy.generic) else got, dtype=dtype)
    except (RuntimeError, OverflowError, ValueError):
        raise wrong_form(f"{name} is {words_of(got)}, which does not fit into {dtype}") from None


def numpy_kind(name: str) -> str:
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
    return kinds[numpy.dtype(name.rstrip("_")).kind]


def wrong_form(text: str) -> Failed:
    return Failed(Failure.WRONG_FORM, text)


def sort_of(value: Any) -> str:
    """Returns "a tensor", or the constant itself, or "a SomeType"."""
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, (list, tuple, Mapping)):
        return f"a {type(value).__name__} of {len(value)}"
    try:
        constant_node(value)
    except TypeError:
        return f"a {type(value).__name__}"
    return words_of(value)
