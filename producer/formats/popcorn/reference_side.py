# The part of a problem file that makes a problem of kq from one in GPU MODE's form. judged_problem.cc writes FILES, the
# texts of the problem's own files, and WORKLOADS, its tests and benchmarks, above it.
#
#     generate_input(**case)              draws the data of one call
#     ref_kernel(data)                    the reference
#     check_implementation(data, output)  (is right, message), or a message that is empty where the output is right
#
# A case may have a seed. It is replaced for each draw, because all draws of a seed are equal, and a submission could
# keep its output from one call to the next.
#
# Data may hold a buffer for the output, which a kernel fills and returns. Inputs may not be changed in kq, so such a
# buffer does not travel: in its place the data has None, `places` describes it, and both sides make it anew for each
# call, with filled(). A buffer is what the reference writes and returns without a use of its earlier values, or what it
# does not touch although it has the form of an output and holds nothing or zeros.
#
# GPU MODE compares outputs of any floating dtypes, kq only those of equal ones. So an output of the submission is
# converted to the floating dtype of the reference's, in the call; `dtypes` has these.

import reference  # noqa: E402
import torch  # noqa: E402

SEED_END = 2**31 - 1
# What a buffer is filled with to see whether a reference reads it.
FILL = 113

for _name in ("generate_input", "ref_kernel", "check_implementation"):
    if not hasattr(reference, _name):
        raise AttributeError(
            f"reference.py defines no {_name}: kq judges problems with generate_input, ref_kernel and "
            "check_implementation"
        )


class Model(torch.nn.Module):
    def forward(self, data, places, dtypes):
        return reference.ref_kernel(filled(data, places))


def get_inputs(case):
    data = _drawn(case)
    places, dtypes = _frame(case)
    for path, *_ in places:
        data = _with(data, path, None)
    return [data, places, dtypes]


def check(inputs, expected, got):
    found = reference.check_implementation(filled(inputs[0], inputs[1]), got)
    is_right, message = found if isinstance(found, tuple) else (not found, found)
    if is_right:
        return None
    return " ".join(str(message or "").split()) or "the problem's check_implementation() refuses the output"


def filled(data, places):
    """Returns the data with a new buffer at each of the places, on the device of its first tensor."""
    device = next((tensor.device for _, tensor in _leaves(data)), None)
    for path, size, stride, dtype, is_zero in places:
        buffer = torch.empty_strided(size, stride, dtype=dtype, device=device)
        data = _with(data, path, buffer.zero_() if is_zero else buffer)
    return data


def converted(output, dtypes):
    """Returns the output with each floating tensor in the dtype that the reference's tensor at its place has."""
    leaves = _leaves(output)
    if len(leaves) != len(dtypes):
        return output
    for (path, tensor), dtype in zip(leaves, dtypes):
        if tensor.dtype != dtype and tensor.dtype.is_floating_point and dtype.is_floating_point:
            output = _with(output, path, tensor.to(dtype))
    return output


def _with(value, path, leaf):
    """Returns a copy of nested containers that has `leaf` at the path."""
    if not path:
        return leaf
    if isinstance(value, dict):
        return {**value, path[0]: _with(value[path[0]], path[1:], leaf)}
    items = list(value)
    items[path[0]] = _with(items[path[0]], path[1:], leaf)
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _drawn(case):
    arguments = dict(case)
    if "seed" in arguments:
        arguments["seed"] = int(torch.randint(0, SEED_END, (1,), device="cpu"))
    return reference.generate_input(**arguments)


_known_frames = {}


def _frame(case):
    """Returns (path, size, stride, dtype, is_zero) of each buffer for an output in the data, and the dtypes of the
    outputs.
    """
    key = repr(case)
    if key not in _known_frames:
        # The draws of a trial follow from its seed, so this must not draw.
        with torch.random.fork_rng(), torch.no_grad():
            _known_frames[key] = _find_frame(case)
    return _known_frames[key]


def _find_frame(case):
    random = torch.get_rng_state()
    with _MarkedMemory():
        data = _drawn(case)
    versions = {path: tensor._version for path, tensor in _leaves(data)}
    blank = {path: kind for path, tensor in _leaves(data) if (kind := _blank_kind(tensor)) is not None}
    outputs = [tensor for _, tensor in _leaves(reference.ref_kernel(data))]
    returned = {tensor.untyped_storage().data_ptr() for tensor in outputs}
    dtypes = tuple(tensor.dtype for tensor in outputs)
    forms = {_form(tensor) for tensor in outputs}
    buffers = {}
    for path, tensor in _leaves(data):
        if tensor._version != versions[path]:
            if tensor.untyped_storage().data_ptr() in returned:
                buffers[path] = (tensor, False)
        elif path in blank and _form(tensor) in forms:
            buffers[path] = (tensor, blank[path] == "zeros")
    if not buffers:
        return (), dtypes
    outputs = [tensor.clone() for tensor in outputs]
    torch.set_rng_state(random)
    again = _drawn(case)
    for path, tensor in _leaves(again):
        if path in buffers:
            tensor.fill_(FILL)
    others = [tensor for _, tensor in _leaves(reference.ref_kernel(again))]
    if len(outputs) != len(others) or not all(map(_are_close, outputs, others)):
        return (), dtypes
    return tuple((path, b.size(), b.stride(), b.dtype, is_zero) for path, (b, is_zero) in buffers.items()), dtypes


def _form(tensor):
    """Returns the size and the dtype, without the width of a floating one, because converted() changes that."""
    return tensor.size(), "floating" if tensor.dtype.is_floating_point else tensor.dtype


class _MarkedMemory:
    """While it is entered, torch fills new memory: with NaN, the largest integer, or True."""

    def __enter__(self):
        self._was = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        torch.use_deterministic_algorithms(True, warn_only=True)

    def __exit__(self, *_):
        torch.use_deterministic_algorithms(self._was[0], warn_only=self._was[1])


# The dtypes of which torch has isnan() and any() on every device.
_COMMON_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_COMMON_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _blank_kind(tensor):
    """Returns "nothing" for a tensor whose memory was never written, "zeros" for one of zeros, and None for others."""
    if tensor.numel() == 0:
        return None
    if tensor.dtype in _COMMON_FLOATS:
        is_blank = bool(tensor.isnan().all())
    elif tensor.dtype in _COMMON_INTEGERS:
        is_blank = bool((tensor == torch.iinfo(tensor.dtype).max).all())
    else:
        return None
    if is_blank:
        return "nothing"
    return None if bool(tensor.any()) else "zeros"


def _leaves(value, path=()):
    """Returns the tensors of nested containers with their paths."""
    if isinstance(value, torch.Tensor):
        return [(path, value)]
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
    if isinstance(value, (list, tuple)):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(item, (*path, i))]
    return []


def _are_close(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.is_floating_point:
        return torch.allclose(a.float(), b.float(), rtol=1e-2, atol=1e-2, equal_nan=True)
    return torch.equal(a, b)
