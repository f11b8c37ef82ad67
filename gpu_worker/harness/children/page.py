"""The page of shared memory between judge and child: gpu_worker/channel/channel.h in Python. layout_test.py holds both
to the same offsets.
"""

import ctypes
from ctypes import c_char, c_double, c_int64, c_uint32, c_uint64
from enum import IntEnum

MAGIC = 0x6B71000A
INPUTS_MAX = 64
OUTPUTS_MAX = 64
STATES_MAX = 2048
DIMS_MAX = 8
ANSWERS_MAX = 8
WORKLOADS_MAX = 128
TEXT_MAX = 4096
TREE_MAX = 32 << 10
ALIGN = 256


class Command(IntEnum):
    NONE = 0
    ATTACH = 1
    NULL_CALL = 2
    LOAD = 3
    PUT_STATE = 4
    MAKE_INPUTS = 5
    CALL = 6
    STAGE = 7
    STAGE_BURST = 8
    BURST = 9
    COMPILE = 10
    CALL_COMPILED = 11
    ANSWER = 12
    TRUTH = 13
    CHECK = 14
    INSPECT = 15


class TruthKind(IntEnum):
    FLOAT64_ON_DEVICE = 0
    FLOAT64_ON_HOST = 1
    FLOAT32_ON_DEVICE = 2


class Rounding(IntEnum):
    NONE = 0
    TF32 = 1
    FP16 = 2
    BF16 = 3


class Status(IntEnum):
    OK = 0
    FAILED = 1


class Failure(IntEnum):
    NONE = 0
    LOAD_FAILED = 1
    RUNTIME_ERROR = 2
    OUT_OF_HOST_MEMORY = 3
    OUT_OF_GPU_MEMORY = 4
    GPU_FAULT = 5
    UNSUPPORTED_HERE = 6
    PROBLEM_INVALID = 7
    WRONG_FORM = 8


class Kind(IntEnum):
    NONE = 0
    TENSOR = 1
    INTEGER = 2
    REAL = 3
    BOOLEAN = 4


class Place(IntEnum):
    WINDOW = 0
    ARENA = 1
    PROCESS = 2


class TensorDesc(ctypes.Structure):
    _fields_ = [
        ("name", c_char * 80),
        ("kind", c_uint32),
        ("dtype", c_uint32),
        ("ndim", c_uint32),
        ("place", c_uint32),
        ("shape", c_int64 * DIMS_MAX),
        ("offset", c_uint64),
        ("bytes", c_uint64),
        ("integer", c_int64),
        ("real", c_double),
        ("is_strided", c_uint32),
        ("reserved", c_uint32),
        ("strides", c_int64 * DIMS_MAX),
    ]


class Seeds(ctypes.Structure):
    _fields_ = [("inputs", c_uint64), ("calls", c_uint64)]


class WorkloadDesc(ctypes.Structure):
    _fields_ = [("name", c_char * 80), ("weight", c_double)]


class TruthOrder(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("rounding", c_uint32), ("is_device_memory", c_uint32)]


class ToleranceDesc(ctypes.Structure):
    _fields_ = [("rtol", c_double), ("atol", c_double), ("matched", c_double)]


class Page(ctypes.Structure):
    _fields_ = [
        ("magic", c_uint32),
        ("page_bytes", c_uint32),
        ("go", c_uint32),
        ("command", c_uint32),
        ("seed", c_uint64),
        ("answer_count", c_uint64),
        ("spin_ns", c_uint64),
        ("window_bytes", c_uint64),
        ("arena_bytes", c_uint64),
        ("touch_bytes", c_uint64),
        ("done", c_uint32),
        ("status", c_uint32),
        ("failure", c_uint32),
        ("text_bytes", c_uint32),
        ("event_ns", c_int64),
        ("slot_bytes", c_uint64),
        ("slots", c_uint32),
        ("calls", c_uint32),
        ("turn", c_uint32),
        ("returned", c_uint32),
        ("text", c_char * TEXT_MAX),
        ("input_count", c_uint32),
        ("output_count", c_uint32),
        ("state_count", c_uint32),
        ("launched", c_uint32),
        ("inputs", TensorDesc * INPUTS_MAX),
        ("outputs", TensorDesc * OUTPUTS_MAX),
        ("states", TensorDesc * STATES_MAX),
        ("answers", Seeds * ANSWERS_MAX),
        ("workload", c_uint32),
        ("workload_count", c_uint32),
        ("workloads", WorkloadDesc * WORKLOADS_MAX),
        ("tolerances", ToleranceDesc * OUTPUTS_MAX),
        ("input_tree_bytes", c_uint32),
        ("output_tree_bytes", c_uint32),
        ("input_tree", c_char * TREE_MAX),
        ("output_tree", c_char * TREE_MAX),
        ("truth", TruthOrder),
        ("has_check", c_uint32),
        ("has_forbidden", c_uint32),
        ("keeps_outputs", c_uint32),
        ("is_watched", c_uint32),
        ("wants_own_kernels", c_uint32),
    ]
