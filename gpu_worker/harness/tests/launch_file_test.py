"""Tests the file that a CUDA build leaves for kq-launcher; launch_plan_test.cc of gpu_worker/child/launcher reads the
same.
"""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from harness.kernels.kernel_spec import BadSpec, read_spec
from harness.kernels.launch_file import text_of


class LaunchFile(unittest.TestCase):
    def text(self, args: list[dict[str, Any]], **more: Any) -> str:
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "k.json"
            path.write_text(json.dumps({"args": args, **more}))
            return text_of(read_spec(path), "_Z3addPf")

    def test_a_number_that_no_float_holds_is_told_in_words(self) -> None:
        with self.assertRaisesRegex(BadSpec, "argument alpha is a whole number of more than 308 digits"):
            self.text([{"name": "alpha", "type": "float", "value": 10**400}])

    def test_every_kind_of_argument_has_its_line(self) -> None:
        tensor = {"name": "x", "type": "tensor", "tensor_spec": {"shape": [64, 3], "dtype": "torch.float32"}}
        args = [
            tensor,
            {"name": "out", "type": "tensor", "role": "output"},
            {"name": "n", "type": "int", "value": -(2**63)},
            {"name": "a", "type": "float", "value": 3, "dtype": "float64"},
            {"name": "b", "type": "bool", "value": True},
            {"name": "m", "type": "int"},
            {"name": "scalar", "type": "tensor", "tensor_spec": {"shape": [], "dtype": "float32"}},
        ]
        launch = {"grid": {"x": 16, "y": 2}, "block": {"x": 256}, "shared_mem_bytes": 1024}
        self.assertEqual(
            self.text(args, launch=launch),
            "kernel\t_Z3addPf\n"
            "grid\t16\t2\t1\n"
            "block\t256\t1\t1\n"
            "shared\t1024\n"
            "arg\tx\ttensor\tinput\tfloat32\t64,3\t-\n"
            "arg\tout\ttensor\toutput\t-\t-\t-\n"
            "arg\tn\tint\tinput\tfloat32\t-\t-9223372036854775808\n"
            "arg\ta\tfloat\tinput\tfloat64\t-\t0x1.8000000000000p+1\n"
            "arg\tb\tbool\tinput\tfloat32\t-\t1\n"
            "arg\tm\tint\tinput\tfloat32\t-\t-\n"
            "arg\tscalar\ttensor\tinput\tfloat32\t\t-\n",
        )

    def test_infinities_are_written(self) -> None:
        text = self.text([{"name": "a", "type": "float", "value": float("-inf")}])
        self.assertIn("\tinput\tfloat32\t-\t-inf\n", text)

    def test_a_name_cannot_make_lines_of_its_own(self) -> None:
        for name in ("x\ny", "x\ty", "\x1b[2J"):
            with self.assertRaises(BadSpec):
                self.text([{"name": name, "type": "int", "value": 1}])


if __name__ == "__main__":
    unittest.main()
