"""The compile child: one call of load_inline or load becomes out/module.so. It runs compilers and nothing of the job.

src/call.json holds the call (extension_call.Call), or {"precompile": VARIANT} for a precompiled header; src/variant names the header to build with.
It leaves in out/:

    status      ok, failed, memory or unsupported
    message     the first error of a compiler, in lines of the submission, and what it said from there on
    toolchain   two lines: the compilers, and the flags that shaped the code
    module.so   or, for a precompiled header, header.h, header.h.gch and header.names, every word of torch's headers

The ways to build it, fastest first; a way that fails hands over to the next, unless its error is plainly the source's own (own_error.py), and the
last one, which is torch's own, has the last word:

    split   the .cu as two (cuda_split.py): its host half by g++ with a precompiled header, its device half by nvcc without torch's headers
    slim    nvcc, its device and host phases side by side, torch/extension.h replaced by what kernels use of it
    full    nvcc, its phases side by side, the headers as they are
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor

from harness.children.job import Job
from harness.extensions import compiler_error
from harness.extensions.builder import BuildFailed, ExtensionBuilder, Unsupported
from harness.extensions.compiler_flags import BadFlag
from harness.extensions.loader_call import BadCall, Call, check_names
from harness.extensions.sources import BadSource
from harness.extensions.toolchain import DEFINES, HALF_DEFINES, STANDARD, Toolchain, find_toolchain, run
from harness.extensions.torch_headers import header_text, host_flags, known_headers

MESSAGE_MAX = 2000


def main(job: Job) -> int:
    os.nice(5)
    status, message = "ok", ""
    try:
        order = json.loads((job.source / "call.json").read_text())
        if "precompile" in order:
            precompile(job, order["precompile"])
        else:
            call = Call(**order)
            check_names(call)
            ExtensionBuilder(job, call).build()
    except (BuildFailed, BadCall, BadFlag, BadSource) as error:
        status, message = "failed", str(error)
    except MemoryError:
        status, message = "memory", "the build took more memory than a build may have"
    except Unsupported as error:
        status, message = "unsupported", str(error)
    (job.out / "message").write_text(message[:MESSAGE_MAX], errors="replace")
    (job.out / "status").write_text(status + "\n")
    return 0


def precompile(job: Job, variant: str) -> None:
    """ "cuda-O1": the slim headers, for g++ with these flags."""
    kind, _, level = variant.partition("-")
    tools = find_toolchain()
    header = job.out / "header.h"
    header.write_text(header_text(kind == "cuda"))
    with ThreadPoolExecutor(max_workers=1) as pool:
        texts = pool.submit(preprocessed_headers, job, tools, kind == "cuda")
        result = run(
            [
                tools.cxx,
                *host_flags(tools, kind == "cuda"),
                STANDARD,
                f"-{level}",
                "-x",
                "c++-header",
                str(header),
                "-o",
                f"{header}.gch",
            ],
            job.work,
        )
    if result.code != 0:
        raise Unsupported(f"the headers of torch cannot be precompiled here: {result.text.strip()[:300]}")
    if (text := texts.result()) is not None:
        (job.out / "header.names").write_bytes(compiler_error.words_of(text))
    (job.out / "toolchain").write_text(f"{tools.description(False)}\n{STANDARD} -{level}\n")


def preprocessed_headers(job: Job, tools: Toolchain, with_cuda: bool) -> bytes | None:
    """All that the full way may see of torch's and CUDA's headers, macros among it: as the host's compiler reads them, and as nvcc does."""
    source, out = job.work / "all.cu", job.work / "all.ii"
    source.write_text("".join(f"#include <{name}>\n" for name in known_headers(with_cuda)))
    commands = [[tools.cxx, *host_flags(tools, with_cuda), "-x", "c++"]]
    if with_cuda:
        commands.append([tools.nvcc, *DEFINES, *HALF_DEFINES, *tools.includes(True), "-Xcompiler", "-dD", "-x", "cu"])
    texts = []
    for command in commands:
        result = run(
            [*command, STANDARD, "-E", *(["-dD"] if command is commands[0] else []), str(source), "-o", str(out)],
            job.work,
        )
        if result.code != 0:
            return None
        texts.append(out.read_bytes())
    return b"\n".join(texts)
