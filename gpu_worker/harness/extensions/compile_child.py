"""The compile child: builds the module of one call of load_inline or load as out/module.so (builder.py), or a prefix
of torch's headers (torch_prefix.py). It runs compilers and no code of the job, and has no GPU.

src/call.json holds the call (loader_call.Call), or {"precompile": VARIANT, "nice": N} for a prefix. src/variant names
the optimisation level of the prefixes to build with, O1 or O2. The child leaves in out/:

    status      ok; failed: the compilers refuse the source, so torch raises; not_loadable: torch raises too, when it
                loads what was compiled; refused: kq does not build the call, though torch might; memory, disk or
                unsupported: a limit of the build, or of the machine
    message     the first error of a compiler, in lines of the submission, and the output that follows it
    toolchain   two lines: the compilers, and the flags that shaped the code
    final       present if every compilation of the call fails in the same way: the compilers name a line of the source,
                or refuse a flag or a name. What a lack of memory may have caused is not final
    module.so   the module; the files of a prefix instead for a prefix
"""

import gc
import json
import os

from harness.children.job import Job
from harness.extensions.builder import BuildFailed, DiskFull, ExtensionBuilder, NotLoadable, Unsupported
from harness.extensions.compiler_flags import BadFlag, refused_by_compiler
from harness.extensions.loader_call import BadCall, BadName, Call, check_names
from harness.extensions.sources import BadSource
from harness.extensions.toolchain import find_toolchain
from harness.extensions.torch_prefix import NotMade, make_prefix

MESSAGE_MAX = 2000
NICE = 5  # of compilers that a job waits for


def main(job: Job) -> int:
    status, message, is_final = "ok", "", False
    gc.disable()  # collecting among the objects of torch took most of the time in which headers are read
    try:
        order = json.loads((job.source / "call.json").read_text())
        os.nice(order.get("nice", NICE))
        if "precompile" in order:
            precompile(job, order["precompile"])
        else:
            call = Call(**order)
            check_names(call)
            if refusal := refused_by_compiler(find_toolchain(), call):
                raise BuildFailed(f"{call.place or call.name}: {refusal}", is_final=True)
            ExtensionBuilder(job, call).build()
    except BadName as error:
        status, message, is_final = "failed", f"{call.place or call.name}: {error}", True
    except BuildFailed as error:
        status, message, is_final = "failed", str(error), error.is_final
    except NotLoadable as error:
        is_final = True
        status, message = "not_loadable", f"{call.place or call.name}: {error}\n{error}"
    except (BadCall, BadFlag, BadSource) as error:
        status, message = "refused", str(error)
    except MemoryError:
        status, message = "memory", "the build took more memory than a build may have"
    except DiskFull as error:
        status, message = "disk", str(error)
    except Unsupported as error:
        status, message = "unsupported", str(error)
    if is_final:
        (job.out / "final").touch()
    (job.out / "message").write_text(message[:MESSAGE_MAX], errors="replace")
    (job.out / "status").write_text(status + "\n")
    return 0


def precompile(job: Job, variant: str) -> None:
    tools = find_toolchain()
    try:
        make_prefix(job, tools, variant)
    except NotMade as error:
        raise Unsupported(str(error)) from error
    (job.out / "toolchain").write_text(f"{tools.description(False)}\n{variant}\n")
