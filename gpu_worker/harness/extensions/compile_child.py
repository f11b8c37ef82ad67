"""The compile child: builds the module of one call of load_inline or load as out/module.so (builder.py), or a
precompiled header. It runs compilers and no code of the job, and has no GPU.

src/call.json holds the call (loader_call.Call), or {"precompile": VARIANT} for a precompiled header. src/variant names
the precompiled header to build with. The child leaves in out/:

    status      ok; failed: the compilers refuse the source, so torch raises; refused: kq does not build the call,
                though torch might; memory or unsupported
    message     the first error of a compiler, in lines of the submission, and the output that follows it
    toolchain   two lines: the compilers, and the flags that shaped the code
    module.so   the module; for a precompiled header instead header.h, header.h.gch and header.names, which holds every
                word of torch's headers
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor

from harness.children.job import Job
from harness.extensions import compiler_error
from harness.extensions.builder import BuildFailed, ExtensionBuilder, Unsupported
from harness.extensions.compiler_flags import BadFlag, refused_by_compiler
from harness.extensions.loader_call import BadCall, BadName, Call, check_names
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
            if refusal := refused_by_compiler(find_toolchain(), call):
                raise BuildFailed(f"{call.place or call.name}: {refusal}")
            ExtensionBuilder(job, call).build()
    except BadName as error:
        status, message = "failed", f"{call.place or call.name}: {error}"
    except BuildFailed as error:
        status, message = "failed", str(error)
    except (BadCall, BadFlag, BadSource) as error:
        status, message = "refused", str(error)
    except MemoryError:
        status, message = "memory", "the build took more memory than a build may have"
    except Unsupported as error:
        status, message = "unsupported", str(error)
    (job.out / "message").write_text(message[:MESSAGE_MAX], errors="replace")
    (job.out / "status").write_text(status + "\n")
    return 0


def precompile(job: Job, variant: str) -> None:
    """Compiles the header of a variant such as "cuda-O1": the slim headers, for g++ with -O1."""
    kind, _, level = variant.partition("-")
    tools = find_toolchain()
    header = job.out / "header.h"
    header.write_text(header_text(kind == "cuda"))
    with ThreadPoolExecutor(max_workers=1) as pool:
        texts = pool.submit(preprocessed_headers, job, tools, kind == "cuda")
        command = [tools.cxx, *host_flags(tools, kind == "cuda"), STANDARD, f"-{level}", "-x", "c++-header"]
        result = run([*command, str(header), "-o", f"{header}.gch"], job.work)
    if result.code != 0:
        raise Unsupported(f"the headers of torch cannot be precompiled here: {result.text.strip()[:300]}")
    if (text := texts.result()) is not None:
        (job.out / "header.names").write_bytes(compiler_error.words_of(text))
    (job.out / "toolchain").write_text(f"{tools.description(False)}\n{STANDARD} -{level}\n")


def preprocessed_headers(job: Job, tools: Toolchain, with_cuda: bool) -> bytes | None:
    """Returns all that the way "full" may see of torch's and CUDA's headers, macros included, as g++ and as nvcc read
    them; None if that fails.
    """
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
