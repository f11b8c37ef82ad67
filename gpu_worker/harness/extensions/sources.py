"""Units."""

from dataclasses import dataclass
from pathlib import Path

from harness.extensions import compiler_flags
from harness.extensions.loader_call import CUDA_ENDINGS, Call, source_label


class BadSource(Exception):
    """What cannot be built at all, in one sentence."""


@dataclass
class TranslationUnit:
    """One file that is compiled."""

    name: str  # "cuda.cu"
    text: str
    is_cuda: bool
    folder: str = ""  # of load(): where its own headers lie


def inline_cpp(call: Call) -> tuple[str, str]:
    """main.cpp as torch writes it: the sources, and the module."""
    parts = ["#include <torch/extension.h>"] if call.implicit_headers else []
    for i, text in enumerate(call.cpp):
        parts += [f'#line 1 "{source_label("cpp_sources", i, len(call.cpp))}"', text]
    module = []
    if call.functions is not None:
        module = ['#line 1 "functions"', "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
        for name, text in call.functions:
            what = f"torch::wrap_pybind_function({name})" if call.error_handling else name
            module.append(f'm.def("{name}", {what}, {quoted(text)});')
        module.append("}")
    return "\n".join(parts), "\n".join(module)


def quoted(text: str) -> str:
    """A docstring as a C++ literal, whatever it holds: it is nothing that the guard reads."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "?": "\\?"}
    return '"' + "".join(escapes.get(c, c if c >= " " else f"\\{ord(c):03o}") for c in text) + '"'


def inline_units(call: Call) -> list[TranslationUnit]:
    cpp, module = inline_cpp(call)
    units = [TranslationUnit("main.cpp", f"{cpp}\n{module}\n", is_cuda=False)]
    if call.cuda:
        parts = (
            ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]
            if call.implicit_headers
            else []
        )
        for i, text in enumerate(call.cuda):
            parts += [f'#line 1 "{source_label("cuda_sources", i, len(call.cuda))}"', text]
        units.append(TranslationUnit("cuda.cu", "\n".join(parts) + "\n", is_cuda=True))
    return units


def file_units(call: Call) -> list[TranslationUnit]:
    texts = {name: text for name, text in call.files}
    units = []
    for source in call.sources:
        compiler_flags.check_plain_path(source, "source file's name")
        short = source.partition("/")[2]
        units.append(
            TranslationUnit(
                source,
                f'#line 1 "{short}"\n{texts[source]}',
                is_cuda=source.endswith(CUDA_ENDINGS),
                folder=str(Path(source).parent),
            )
        )
    return units
