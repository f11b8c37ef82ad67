"""The C source that registers device code with CUDA's runtime, for a .cu that was compiled in two halves."""

from pathlib import Path


def registration(fatbin: Path, names: list[str], variables: dict[str, tuple[int, bool]]) -> str:
    """Returns a source that does what nvcc's host code does when it is loaded (crt/host_runtime.h): it registers the
    code, each kernel and each variable.
    """
    symbols = "".join(f'extern char kernel_{i} __asm__("{name}");\n' for i, name in enumerate(names))
    symbols += "".join(f'extern char variable_{i} __asm__("{name}");\n' for i, name in enumerate(variables))
    calls = "".join(
        f'  __cudaRegisterFunction(handle, &kernel_{i}, "{name}", "{name}", -1, 0, 0, 0, 0, 0);\n'
        for i, name in enumerate(names)
    )
    calls += "".join(
        f'  __cudaRegisterVar(handle, &variable_{i}, "{name}", "{name}", 0, {size}, {int(is_constant)}, 0);\n'
        for i, (name, (size, is_constant)) in enumerate(variables.items())
    )
    return f"""
#include <stdlib.h>
__asm__(".section .nv_fatbin, \\"a\\"\\n.align 8\\nkq_fatbin_{names[0]}:\\n.incbin \\"{fatbin}\\"\\n.previous\\n");
extern const char kq_fatbin __asm__("kq_fatbin_{names[0]}");
struct wrapper {{ int magic, version; const void* data; void* unused; }};
static struct wrapper wrapper __attribute__((section(".nvFatBinSegment"), aligned(8))) =
    {{0x466243b1, 1, &kq_fatbin, 0}};
extern void** __cudaRegisterFatBinary(void*);
extern void __cudaRegisterFatBinaryEnd(void**);
extern void __cudaUnregisterFatBinary(void**);
extern void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
extern void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
{symbols}
static void** handle;
static void leave(void) {{ __cudaUnregisterFatBinary(handle); }}
__attribute__((constructor)) static void enter(void) {{
  handle = __cudaRegisterFatBinary(&wrapper);
{calls}
  __cudaRegisterFatBinaryEnd(handle);
  atexit(leave);
}}
"""
