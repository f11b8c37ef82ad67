"""The figures of a profile: what each is called, and which of ncu's metrics it is, or is made of.

Groups and keys are those that users of a REST evaluation server know. ncu's names are in its documentation, "Metrics Reference"; a metric that an
ncu or a GPU does not have is left out.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

GIB = 1 << 30
NAME_MAX = 1000

Kernel = dict[str, Any]  # {"kernel": NAME, "metrics": {"GROUP.KEY": 1.5}}


@dataclass(frozen=True)
class Figure:
    """Made of `metrics`, in their order."""

    metrics: tuple[str, ...]
    make: Callable[..., float] = lambda value: value


def _single(metric: str, factor: float = 1.0) -> Figure:
    return Figure((metric,), lambda value: value * factor)


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole


PEAK, ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
LIMITS = {
    f"occupancy_limit_{what}": _single(f"launch__occupancy_limit_{what}")
    for what in ("blocks", "registers", "shared_mem", "warps")
}
WAVES = _single("launch__waves_per_multiprocessor")
IPC = _single("sm__inst_executed.avg.per_cycle_active")

# Of one precision: additions and multiplications count one, fused ones two.
_SINGLE = tuple(
    f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed" for op in ("fadd", "fmul", "ffma")
)
_DOUBLE = tuple(
    f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed" for op in ("dadd", "dmul", "dfma")
)
_CYCLES = "smsp__cycles_elapsed.max"
_SECONDS = "gpu__time_duration.sum"  # ns
_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")


def _operations(cycles: float, *rates: float) -> float:
    adds, multiplies, fused, double_adds, double_multiplies, double_fused = rates
    return cycles * (adds + multiplies + 2 * fused + double_adds + double_multiplies + 2 * double_fused)


_FLOPS = (_CYCLES, *_SINGLE, *_DOUBLE)


def _intensity(read: float, written: float, *flops: float) -> float:
    return _operations(*flops) / (read + written)


GROUPS: dict[str, dict[str, Figure]] = {
    "speed_of_light": {
        "compute_memory_throughput_pct": _single("gpu__compute_memory_throughput" + PEAK),
        "compute_throughput_pct": _single("sm__throughput" + PEAK),
        "sm_throughput_pct": _single("sm__throughput" + PEAK),
        "gpu_dram_throughput_pct": _single("gpu__dram_throughput" + PEAK),
        "memory_throughput_pct": _single("gpu__compute_memory_throughput" + PEAK),
        "dram_throughput_pct": _single("dram__throughput" + PEAK),
    },
    "detailed_metrics": {
        "l1_hit_rate_pct": _single("l1tex__t_sector_hit_rate.pct"),
        "l2_hit_rate_pct": _single("lts__t_sector_hit_rate.pct"),
        "warp_occupancy_pct": _single("sm__warps_active" + ACTIVE),
        "sm_active_cycles_pct": Figure(("sm__cycles_active.avg", "sm__cycles_elapsed.max"), _percent),
        "instructions_per_cycle": IPC,
        "waves_per_sm": WAVES,
    },
    "memory_metrics": {
        "dram_avg_bandwidth_gb_s": _single("dram__bytes.avg.per_second", 1 / GIB),
        "dram_total_bandwidth_gb_s": _single("dram__bytes.sum.per_second", 1 / GIB),
        "dram_active_cycles_pct": _single("dram__cycles_active" + PEAK),
        "l1_writeback_active_pct": _single("l1tex__lsu_writeback_active" + PEAK),
        "l1_read_sectors_pct": _single("l1tex__m_xbar2l1tex_read_sectors" + PEAK),
        "l2_throughput_pct": _single("lts__throughput" + PEAK),
    },
    "compute_metrics": {
        **{
            f"{pipe}_pipe_utilization_pct": _single(f"sm__inst_executed_pipe_{pipe}{ACTIVE}")
            for pipe in ("fma", "fp64", "alu", "xu", "tensor")
        },
        "instructions_per_cycle": IPC,
        **LIMITS,
        "registers_per_thread": _single("launch__registers_per_thread"),
    },
    "pipeline_metrics": {
        **{
            f"{pipe}_pipe_active_pct": _single(f"sm__pipe_{pipe}_cycles_active{ACTIVE}")
            for pipe in ("fma", "alu", "tensor", "shared", "fp64")
        },
        "sm_issue_active_pct": _single("sm__issue_active" + PEAK),
    },
    "occupancy_metrics": {
        **LIMITS,
        "waves_per_sm": WAVES,
        "block_size": _single("launch__block_size"),
        "grid_size": _single("launch__grid_size"),
        "shared_mem_per_block": _single("launch__shared_mem_per_block"),
    },
    # Of the cycles between two issues of a warp, the share spent on this.
    "stall_metrics": {
        f"stall_{why}_pct": Figure(
            (
                f"smsp__average_warps_issue_stalled_{why}_per_issue_active.ratio",
                "smsp__average_warp_latency_per_inst_issued.ratio",
            ),
            _percent,
        )
        for why in ("long_scoreboard", "short_scoreboard", "barrier", "not_selected")
    },
    "scheduler_metrics": {
        "warps_eligible_per_cycle": _single("smsp__warps_eligible.avg.per_cycle_active"),
        "inst_issued_per_cycle": _single("sm__inst_issued.avg.per_cycle_active"),
        "issue_active_pct": _single("smsp__issue_active" + ACTIVE),
    },
    "access_pattern_metrics": {
        "l1_load_sectors_per_req": _single("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
        "l1_store_sectors_per_req": _single("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
        "l2_theoretical_sectors_global": _single("memory_l2_theoretical_sectors_global"),
        "l2_theoretical_sectors_global_ideal": _single("memory_l2_theoretical_sectors_global_ideal"),
        "l2_theoretical_sectors_global_excessive": _single("derived__memory_l2_theoretical_sectors_global_excessive"),
        "l2_excess_frac": Figure(
            ("derived__memory_l2_theoretical_sectors_global_excessive", "memory_l2_theoretical_sectors_global"),
            lambda part, whole: part / whole,
        ),
        "shared_bank_conflicts_load_sum": _single("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
        "shared_bank_conflicts_store_sum": _single("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    },
    # Of the ordinary pipes: what tensor cores do is not in it. The roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009.
    "roofline_metrics": {
        "flop_count_total": Figure(_FLOPS, _operations),
        "dram_bytes_sum": Figure(_BYTES, lambda read, written: read + written),
        "arithmetic_intensity": Figure((*_BYTES, *_FLOPS), _intensity),
        "gflops": Figure((_SECONDS, *_FLOPS), lambda ns, *flops: _operations(*flops) / ns),
    },
    "timing_metrics": {
        "gpu_time_duration_sum": _single(_SECONDS),
        "gpu_time_duration_seconds": Figure((_SECONDS,), lambda ns: ns / 1e9),
        "gpc_cycles_elapsed_max": _single("gpc__cycles_elapsed.max"),
    },
}

METRICS = sorted({metric for group in GROUPS.values() for figure in group.values() for metric in figure.metrics})
# Those that are in none of the sections that profile.py asks for.
EXTRA_METRICS = (
    "dram__throughput" + PEAK,
    "sm__inst_executed_pipe_tensor" + ACTIVE,
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
)


def kernels_of(rows: Iterable[list[str]]) -> list[Kernel]:
    """Of ncu's "raw" page as CSV in base units: a row of names, a row of units, a row for each kernel."""
    found = iter(rows)
    names = next(found, [])
    next(found, None)
    if "Kernel Name" not in names:
        raise ValueError("it has no column of kernels")
    return [kernel_of(dict(zip(names, row))) for row in found]


def kernel_of(row: dict[str, str]) -> Kernel:
    values = {metric: parse_number(row.get(metric, "")) for metric in METRICS}
    metrics = {}
    for group, figures in GROUPS.items():
        for key, figure in figures.items():
            of_it = [values[metric] for metric in figure.metrics]
            known = [value for value in of_it if value is not None]
            value = evaluate(figure, known) if len(known) == len(of_it) else None
            if value is not None and math.isfinite(value):
                metrics[f"{group}.{key}"] = value
    return {"kernel": row["Kernel Name"][:NAME_MAX], "metrics": metrics}


def evaluate(figure: Figure, values: list[float]) -> float | None:
    try:
        return figure.make(*values)
    except ZeroDivisionError:
        return None


def parse_number(text: str) -> float | None:
    """ "1,234.5"; what has instances, "12 (3; 4; 5)", stands for their sum."""
    try:
        return float(text.partition(" ")[0].replace(",", ""))
    except ValueError:
        return None
