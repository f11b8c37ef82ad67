"""Measures the rate of kq-check over 1,000 files in one warm process.

    scripts/bench guard [--files N]

The files are those of examples and tests/adversarial, generated kernels with CUDA C++ inside, and Python sources of the
interpreter's own library, of at most 64 KiB each, chosen with a fixed seed. A last line makes each file unique.
"""

import argparse
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCE_BYTES_MAX = 64 << 10
CUDA_SHARE = 4  # one generated kernel in so many files

KERNEL = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

#define CEIL(a, b) (((a) + (b) - 1) / (b))
{kernels}
torch::Tensor run(torch::Tensor x) {{
  auto y = torch::empty_like(x);
  auto stream = at::cuda::getCurrentCUDAStream();
{launches}
  return y;
}}
"""

INTERFACE = "torch::Tensor run(torch::Tensor x);"
module = load_inline(name="m{n}", cpp_sources=INTERFACE, cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
'''
DEVICE = """
template <int BLOCK>
__global__ void k{i}(const float* __restrict__ x, float* __restrict__ y, int n) {{
  __shared__ float part[BLOCK];
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  part[threadIdx.x] = at < n ? fmaxf(x[at], {i}.0f) : 0.0f;  // a comment about streams
  __syncthreads();
#pragma unroll
  for (int step = BLOCK / 2; step > 0; step >>= 1) {{
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }}
  if (at < n) y[at] = part[0] / BLOCK;
}}
"""


def generated(n: int, draw: random.Random) -> str:
    count = draw.randint(1, 8)
    launches = "\n".join(
        f"  k{i}<256><<<CEIL(x.numel(), 256), 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());"
        for i in range(count)
    )
    return KERNEL.format(n=n, kernels="".join(DEVICE.format(i=i) for i in range(count)), launches=launches)


def fill(folder: Path, files: int) -> None:
    draw = random.Random(1)
    own = [
        p
        for place in ("examples", "tests/adversarial")
        for p in (ROOT / place).rglob("*")
        if p.suffix in (".py", ".cu") and "suite" not in p.parts
    ]
    around = [
        p
        for p in Path(sysconfig.get_path("stdlib")).rglob("*.py")
        if p.stat().st_size <= SOURCE_BYTES_MAX and "lib2to3/tests" not in str(p)
    ]
    around.sort()
    chosen = sorted(own)[: files // 2]
    for i in range(files):
        if i % CUDA_SHARE == 0:
            name, text = f"{i}_generated.py", generated(i, draw).encode()
        elif chosen:
            path = chosen.pop()
            name, text = f"{i}_{path.stem}{path.suffix}", path.read_bytes()
        else:
            path = draw.choice(around)
            name, text = f"{i}_{path.stem}.py", path.read_bytes()
        (folder / name).write_bytes(text + (b"\n# %d\n" % i if name.endswith(".py") else b"\n// %d\n" % i))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench guard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=1000)
    options = parser.parse_args()
    program = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin") / "kq-check"
    with tempfile.TemporaryDirectory(prefix="kq-bench guard.") as name:
        folder = Path(name)
        fill(folder, options.files)
        groups = {"all": ["*"], "Python with CUDA C++ inside": ["*_generated.py"], "CUDA C++": ["*.cu"]}
        for title, (pattern,) in groups.items():
            paths = sorted(folder.glob(pattern))
            done = subprocess.run([program, "--times", "--format", "json", *paths], capture_output=True, text=True)
            if done.returncode == 3:
                sys.exit(done.stderr)
            size = sum(path.stat().st_size for path in paths) / len(paths) / 1024
            print(f"{title}: mean {size:.1f} KiB; {done.stderr.strip().splitlines()[-1].removeprefix('kq-check: ')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
