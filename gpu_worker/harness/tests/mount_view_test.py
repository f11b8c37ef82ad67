"""Tests which GPU's device node a child sees."""

import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from harness.sandbox import mount_view


class GpuNodes(unittest.TestCase):
    def test_a_gpu_is_found_by_its_uuid_whatever_its_number(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for i, (uuid, minor) in enumerate([("GPU-aa", "2"), ("GPU-bb", "0"), ("GPU-cc", "7"), ("GPU-dd", "none")]):
                (Path(folder) / str(i)).write_text(
                    f"Model: \t NVIDIA H200\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n"
                )
            with patch("os.path.exists", lambda path: path in ("/dev/nvidia0", "/dev/nvidia2")):
                self.assertEqual(mount_view.minors_by_uuid(f"{folder}/*"), {"GPU-aa": 2, "GPU-bb": 0})

    def test_where_it_cannot_be_told_all_are_there(self) -> None:
        with patch("glob.glob", lambda pattern: ["/dev/nvidia1", "/dev/nvidia0"] if pattern.startswith("/dev") else []):
            self.assertEqual(mount_view.gpu_nodes("GPU-ff")[-2:], ["/dev/nvidia0", "/dev/nvidia1"])

    def test_a_child_with_several_gpus_has_the_node_of_each(self) -> None:
        with patch.object(mount_view, "minors_by_uuid", lambda: {"GPU-aa": 2, "GPU-bb": 0, "GPU-cc": 7}):
            self.assertEqual(mount_view.gpu_nodes("GPU-cc,GPU-aa")[3:], ["/dev/nvidia7", "/dev/nvidia2"])
            self.assertEqual(mount_view.gpu_nodes("GPU-bb")[3:], ["/dev/nvidia0"])


if __name__ == "__main__":
    unittest.main()
