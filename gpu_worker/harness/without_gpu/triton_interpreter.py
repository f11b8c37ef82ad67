"""What triton's interpreter can say of a kernel on a machine without a GPU.

The zygote of a worker without a GPU calls prepare() once; its children inherit what that changes:

    loops           A bound that is an argument of the kernel works with every numpy (triton-lang/triton#9171).
    bfloat16, fp8   The interpreter keeps such values as bit patterns. It may load, move, convert and store them;
                    arithmetic on them raises CannotInterpret, because the interpreter would compute on the patterns.
    autotuning      Nothing can be measured. The first configuration that pruning leaves is tried once, with all hooks,
                    and taken.

is_limit() tells the interpreter's own failures from those of the kernel.
"""

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

# The first release of triton whose interpreter converts a tensor to an index with numpy 2.4. Triton 3.6 calls int() on
# an array of one element, which numpy 2.4 refuses: triton-lang/triton#9171.
INDEX_REPAIRED_IN = (3, 7)

# Operations of the interpreter that do the right thing with bit patterns, since they only move or look at bits.
EXACT_ON_BITS = frozenset(
    f"create_{name}"
    for name in (
        "load store masked_load masked_store tensor_pointer_load tensor_pointer_store descriptor_load "
        "descriptor_store descriptor_gather descriptor_scatter bitcast int_to_ptr ptr_to_int reshape trans "
        "expand_dims broadcast cat join split splat unsplat gather select fabs addptr make_block_ptr advance "
        "make_tensor_descriptor print atomic_cas"
    ).split()
)
# Functions of the interpreter that raise what the kernel asked for.
ASSERTIONS = ("create_assert", "create_assume", "_new_static_assert")
# Steps of the interpreter's rewriting of a kernel. What fails there never began to run.
REWRITING = ("rewrite_ast", "_prepare_source", "_transform_ast", "_compile_and_exec", "visit_Assign")
UNPATCHED = "Did you forget to add @triton.jit"  # a function of triton that the interpreter does not replace
PYTHON_NUMBERS = (bool, int, float, tuple)


class CannotInterpret(BaseException):
    """A kernel does what the interpreter computes otherwise than a GPU; the text names it. The class is derived from
    BaseException, so that a submission which falls back on another way is not judged by that.
    """


def prepare() -> None:
    """Changes triton in this process. An unknown version of triton stays as it is where the names differ."""
    from triton.runtime import autotuner, interpreter

    for change, module in (
        (repair_index, interpreter),
        (round_to_bf16, interpreter),
        (refuse_arithmetic_on_bits, interpreter),
        (take_first_configuration, autotuner),
    ):
        try:
            change(module)
        except AttributeError as error:
            print(f"kq: {change.__name__} does not fit this version of triton: {error}", file=sys.stderr)


def repair_index(interpreter: Any) -> None:
    """Makes range(n) work where n is an argument of the kernel. The repair is not made where triton has its own."""
    import triton

    if tuple(int(part) for part in triton.__version__.split(".")[:2]) >= INDEX_REPAIRED_IN:
        return
    patch = interpreter._patch_lang_tensor

    def patch_lang_tensor(tensor: Any, *scope: Any) -> None:
        patch(tensor, *scope)
        if scope:
            scope[0].set_attr(tensor, "__index__", index)
        else:
            tensor.__index__ = index

    interpreter._patch_lang_tensor = patch_lang_tensor


def index(tensor: Any) -> int:
    return int(tensor.handle.data.item())


# --- bfloat16 and fp8


def round_to_bf16(interpreter: Any) -> None:
    """Makes a conversion from float32 to bfloat16 round to the nearest, as a GPU does. The interpreter cuts off."""
    import triton.language as tl

    cast = interpreter.InterpreterBuilder.cast_impl

    def cast_impl(builder: Any, source: Any, wanted: Any) -> Any:
        if source.dtype.scalar != tl.float32 or wanted.scalar != tl.bfloat16:
            return cast(builder, source, wanted)
        rounded = torch.from_numpy(np.array(source.data)).to(torch.bfloat16).view(torch.int16)
        return interpreter.TensorHandle(rounded.numpy().view(np.uint16), tl.bfloat16)

    interpreter.InterpreterBuilder.cast_impl = cast_impl


def refuse_arithmetic_on_bits(interpreter: Any) -> None:
    builder = interpreter.InterpreterBuilder
    handle = interpreter.TensorHandle
    for name in dir(builder):
        if name.startswith("create_") and name not in EXACT_ON_BITS:
            setattr(builder, name, _checked(name.removeprefix("create_"), getattr(builder, name), handle))
    apply = interpreter.ReduceScanOpInterface.apply

    def checked_apply(operation: Any, given: Any) -> Any:
        for tensor in given if isinstance(given, tuple) else (given,):
            _refuse(getattr(tensor, "dtype", None), "a reduction or a scan")
        return apply(operation, given)

    interpreter.ReduceScanOpInterface.apply = checked_apply


def _checked(name: str, operation: Callable[..., Any], handle: type) -> Callable[..., Any]:
    from triton.language import dtype

    def call(builder: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values()) if kwargs else args
        types = [getattr(value, "dtype", value) if type(value) is handle else value for value in values]
        types = [one for one in types if isinstance(one, dtype)]
        if any(is_bits(one) for one in types) and not _is_exact_conversion(name, types):
            for one in types:
                _refuse(one, name)
        return operation(builder, *args, **kwargs)

    return functools.wraps(operation)(call)


def is_bits(kind: Any) -> bool:
    """Returns whether the interpreter keeps values of the type as bit patterns: bfloat16 and every fp8."""
    name = str(getattr(kind.scalar, "name", ""))
    return name == "bf16" or name.startswith("fp8")


def _is_exact_conversion(name: str, types: list[Any]) -> bool:
    """Returns whether the operation is a conversion that is right: between bfloat16 and float32, or from fp8 to a
    wider type.
    """
    if len(types) != 2:
        return False
    source, wanted = (str(one.scalar.name) for one in types)
    if name in ("fp_ext", "fp_trunc"):
        return {source, wanted} == {"bf16", "fp32"}
    return name == "fp_to_fp" and source.startswith("fp8") and not wanted.startswith("fp8")


def _refuse(kind: Any, name: str) -> None:
    if kind is not None and is_bits(kind):
        raise CannotInterpret(f"{name} on {kind.scalar.name}, which the interpreter computes on bit patterns")


# --- autotuning


def take_first_configuration(autotuner: Any) -> None:
    """Makes an autotuner try the first configuration that pruning leaves, once, and take it. Everything else is the
    autotuner's own code, so that reset_to_zero, restore_value and the hooks work as on a GPU.
    """
    prune = autotuner.Autotuner.prune_configs

    def prune_configs(tuner: Any, kwargs: dict[str, Any]) -> Any:
        return prune(tuner, kwargs)[:1]

    measure = functools.cached_property(lambda tuner: run_once)
    measure.__set_name__(autotuner.Autotuner, "do_bench")
    autotuner.Autotuner.prune_configs = prune_configs
    autotuner.Autotuner.do_bench = measure


def run_once(launch: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
    """Stands in for a measurement of a launch."""
    launch()
    return 1.0 if quantiles is None else [1.0] * len(quantiles)


# --- whose failure it is


def is_limit(error: BaseException) -> bool:
    """Returns whether the error means that the interpreter cannot do what the kernel does. Any other error is the
    kernel's.
    """
    interpreter = sys.modules.get("triton.runtime.interpreter")
    if interpreter is None:
        return False
    root = root_of(error)
    if isinstance(root, CannotInterpret):
        return True
    frames = [(frame.f_code.co_filename, frame.f_code.co_name) for frame, _ in traceback.walk_tb(root.__traceback__)]
    return _is_interpreters(root, frames, str(interpreter.__file__)) or (
        isinstance(error, interpreter.InterpreterError) and _is_unlike_compiled(root, frames)
    )


def root_of(error: BaseException) -> BaseException:
    """Returns the error that the interpreter wrapped, once for each function that called the next one; any other error
    as it is. Its traceback ends in the kernel, that of the wrapper at the launch.
    """
    interpreter = sys.modules.get("triton.runtime.interpreter")
    while interpreter and isinstance(error, interpreter.InterpreterError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _is_interpreters(error: BaseException, frames: list[tuple[str, str]], own_file: str) -> bool:
    """Returns whether the error was raised by the interpreter's own code, or by numpy for that code."""
    if any(file == own_file and function in REWRITING for file, function in frames):
        return True
    numpy = str(np.__file__).rpartition("/")[0] + "/"
    while frames and frames[-1][0].startswith(numpy):
        frames = frames[:-1]
    if not frames or frames[-1][0] != own_file or frames[-1][1] in ASSERTIONS:
        return False
    # The launch itself: a grid of a wrong kind is the kernel's, except that a GPU takes a list as well.
    return frames[-1][1] != "__call__" or "concatenate list" in str(error)


def _is_unlike_compiled(error: BaseException, frames: list[tuple[str, str]]) -> bool:
    """Returns whether the interpreter lacks something that the compiler has: an operation, a function of a library, or
    a method of a value that is a plain Python number here and a tensor or constexpr when compiled.
    """
    if isinstance(error, AttributeError):
        from triton.language import constexpr, tensor

        if type(error.obj).__name__ == "InterpreterBuilder":
            return True
        known = (*dir(tensor), *dir(constexpr(0)))
        return isinstance(error.obj, PYTHON_NUMBERS) and error.name in known
    return UNPATCHED in str(error) or (isinstance(error, NotImplementedError) and "/triton/" in frames[-1][0])
