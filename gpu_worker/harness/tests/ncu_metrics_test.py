"""Tests the figures of a profile, from what ncu 2025.3.1 wrote about two kernels on an H100."""

import csv
import unittest
from pathlib import Path

from harness.profiling import ncu_metrics

RECORDED = Path(__file__).with_name("ncu_raw.csv")


class Kernels(unittest.TestCase):
    def setUp(self) -> None:
        with RECORDED.open(newline="") as rows:
            self.kernels = ncu_metrics.kernels_of(csv.reader(rows))

    def test_every_kernel_has_its_figures(self) -> None:
        add, softmax = self.kernels
        self.assertIn("vectorized_elementwise_kernel", add["kernel"])
        self.assertIn("softmax_warp_forward", softmax["kernel"])
        self.assertEqual(add["metrics"]["speed_of_light.gpu_dram_throughput_pct"], 78.56)
        self.assertEqual(add["metrics"]["timing_metrics.gpu_time_duration_sum"], 42880)
        self.assertEqual(softmax["metrics"]["occupancy_metrics.grid_size"], 1024)

    def test_what_is_made_of_several_agrees_with_what_was_done(self) -> None:
        # x += 1 on 16 Mi floats: one fused multiply-add each; the data are read once, and written back except for what
        # the cache kept.
        n = 1 << 24
        metrics = self.kernels[0]["metrics"]
        self.assertAlmostEqual(metrics["roofline_metrics.flop_count_total"] / (2 * n), 1, delta=0.01)
        self.assertLess(metrics["roofline_metrics.dram_bytes_sum"], 2 * 4 * n)
        self.assertAlmostEqual(
            metrics["roofline_metrics.arithmetic_intensity"],
            metrics["roofline_metrics.flop_count_total"] / metrics["roofline_metrics.dram_bytes_sum"],
        )
        self.assertAlmostEqual(metrics["roofline_metrics.gflops"], 2 * n / 42880, delta=5)
        self.assertGreater(metrics["stall_metrics.stall_long_scoreboard_pct"], 50)

    def test_what_ncu_does_not_have_is_left_out(self) -> None:
        row = {
            "Kernel Name": "k",
            "gpu__time_duration.sum": "1,000",
            "sm__cycles_active.avg": "5",
            "sm__cycles_elapsed.max": "0",
        }
        found = ncu_metrics.kernel_of(row)
        self.assertEqual(
            found["metrics"],
            {"timing_metrics.gpu_time_duration_sum": 1000, "timing_metrics.gpu_time_duration_seconds": 1e-6},
        )

    def test_bandwidths_are_in_the_units_of_those_whose_names_they_have(self) -> None:
        row = {
            "Kernel Name": "k",
            "dram__bytes.sum.per_second": str(3 << 30),
            "dram__bytes.avg.per_second": str(1 << 29),
        }
        self.assertEqual(
            ncu_metrics.kernel_of(row)["metrics"],
            {"memory_metrics.dram_total_bandwidth_gb_s": 3, "memory_metrics.dram_avg_bandwidth_gb_s": 0.5},
        )

    def test_other_files_are_refused(self) -> None:
        for rows in ([], [["a", "b"]], [["a"], [""], ["1"]]):
            with self.assertRaises(ValueError):
                ncu_metrics.kernels_of(rows)


if __name__ == "__main__":
    unittest.main()
