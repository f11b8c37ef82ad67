"""What a CUDA build says to the launcher: gpu_worker/child/launcher/launch_plan.h describes the file."""

from harness.kernels.kernel_spec import Arg, BadSpec, KernelSpec

UNSAID = "-"


def text_of(spec: KernelSpec, kernel: str) -> str:
    """The launch of `kernel`, a name in the cubin. Raises BadSpec for a name that no line can hold."""
    lines = [["kernel", kernel], ["grid", *map(str, spec.grid)], ["block", *map(str, spec.block)]]
    lines += [["shared", str(spec.shared_mem_bytes)], *(line_of(arg) for arg in spec.args or ())]
    return "".join("\t".join(line) + "\n" for line in lines)


def line_of(arg: Arg) -> list[str]:
    if not arg.name.isprintable():
        raise BadSpec(f"argument {arg.name!r} has a name that cannot be printed")
    shape = UNSAID if arg.shape is None else ",".join(map(str, arg.shape))
    return ["arg", arg.name, arg.type, arg.role, arg.dtype or UNSAID, shape, value_of(arg)]


def value_of(arg: Arg) -> str:
    if arg.value is None:
        return UNSAID
    try:
        return float(arg.value).hex() if arg.type == "float" else str(int(arg.value))
    except OverflowError as error:
        raise BadSpec(f"argument {arg.name} is a whole number of more than 308 digits, which no float holds") from error
