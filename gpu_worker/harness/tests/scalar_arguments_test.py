"""Arguments fitted to a kernel's parameters, and the names that cubins have for kernels."""

import unittest

from harness.kernels.cubin import BadCubin, Cubin, find, parameters_of, plain_name, read
from harness.kernels.kernel_spec import Arg, BadSpec
from harness.kernels.scalar_arguments import bits_of_half, fit_arguments


def arg(kind: str, value: object = None, dtype: str = "float32") -> Arg:
    return Arg("a", kind, "input", value, dtype, None)


class Scalars(unittest.TestCase):
    def test_halves_are_handed_over_as_their_bits(self) -> None:
        for value, half, bfloat in (
            (1.5, 0x3E00, 0x3FC0),
            (-2.0, 0xC000, 0xC000),
            (1e6, 0x7C00, 0x4974),
            (float("-inf"), 0xFC00, 0xFF80),
            (3.14159, 0x4248, 0x4049),
        ):
            self.assertEqual((bits_of_half(value, "float16"), bits_of_half(value, "bfloat16")), (half, bfloat))
        (fitting,) = fit_arguments([arg("float", 1.5, "float16")], [2], "k", "k.json")
        self.assertEqual((fitting.type, fitting.value, fitting.dtype), ("int", 0x3E00, "int16"))

    def test_what_does_not_fit_is_said_in_words(self) -> None:
        for one, size, words in (
            (arg("tensor"), 4, "k.json: argument a is a pointer, the kernel's parameter has 4 bytes"),
            (arg("int", 300), 1, "k.json: argument a is 300, the kernel's parameter has 8 bits"),
            (arg("int", 1), 20, "k.json: argument a is a number, the kernel's parameter has 20 bytes"),
            (arg("float", 1.0), 2, "needs a value, and the dtype float16 or bfloat16"),
            (arg("float", 1.0), 1, "is a float, a double, a half or a bfloat16, the kernel's parameter has 1 bytes"),
        ):
            with self.assertRaisesRegex(BadSpec, words):
                fit_arguments([one], [size], "k", "k.json")

    def test_a_kernel_is_found_by_its_plain_name_where_that_is_one(self) -> None:
        self.assertEqual(
            [plain_name(name) for name in ("add", "_Z3addPf", "_ZN2my3addIfEEvPT_", "_ZN12_GLOBAL__N_13addEPf")],
            ["add"] * 4,
        )
        two = Cubin(90, {"_Z3addIfEvPT_": (8,), "_Z3addIdEvPT_": (8,), "_ZN2my3subEv": ()})
        self.assertEqual(
            [find(two, name) for name in ("_Z3addIfEvPT_", "my::sub", "sub", "add", None)],
            ["_Z3addIfEvPT_", "_ZN2my3subEv", "_ZN2my3subEv", None, None],
        )

    def test_parameters_told_in_another_way_are_not_known(self) -> None:
        size, one = b"\3\x19\x08\0", b"\4\x17\x0c\0" + b"\0" * 10 + b"\x21\0"
        self.assertEqual([parameters_of(info) for info in (size + one, size, b"\3\x1b\xff\0")], [(8,), None, ()])

    def test_damaged_cubins_are_none(self) -> None:
        for data in (b"", b"\x7fELF\x02", b"\x7fELF\x02" + b"\0" * 13 + b"\xbe\0" + b"\xff" * 100):
            with self.assertRaises(BadCubin):
                read(data)


if __name__ == "__main__":
    unittest.main()
