"""Tests that children/page.py and gpu_worker/channel/channel.h describe the same page."""

import ctypes
import unittest

from harness.children import page, tensors
from harness.children.runtime import ChildRuntime
from world import STUB


class Layout(unittest.TestCase):
    def setUp(self) -> None:
        self.stub = ChildRuntime(STUB)

    def test_every_field_has_its_offset(self) -> None:
        for structure in (
            page.Page,
            page.TensorDesc,
            page.Seeds,
            page.WorkloadDesc,
            page.ToleranceDesc,
            page.TruthOrder,
        ):
            self.assertEqual(ctypes.sizeof(structure), self.stub.layout(f"sizeof {structure.__name__}"))
            for name, *_ in structure._fields_:
                field = f"{structure.__name__}.{name}"
                self.assertEqual(getattr(structure, name).offset, self.stub.layout(field), field)

    def test_every_limit_is_the_same(self) -> None:
        for name in (
            "magic",
            "inputs_max",
            "outputs_max",
            "states_max",
            "dims_max",
            "answers_max",
            "workloads_max",
            "text_max",
            "tree_max",
            "align",
        ):
            self.assertEqual(getattr(page, name.upper()), self.stub.layout(name), name)

    def test_every_dtype_has_its_element_size(self) -> None:
        sizes = [None, 8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 8, 16, 1, 1, 1, 1, 1, 2, 4, 8, 4]
        self.assertEqual([dtype and dtype.itemsize for dtype in tensors.DTYPES], sizes)


if __name__ == "__main__":
    unittest.main()
