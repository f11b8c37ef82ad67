"""The jobs of scripts/bench sweep: small problems in KernelBench's form and right kernels for them, no two of which are
alike.

A family is one line of arithmetic, written once for each language. `map` families go element by element, `row` families
by the row.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Family:
    shape: str  # map or row
    arguments: str
    reference: str  # the expression that Model returns
    torch: str  # the expression that a torch submission returns
    triton: str  # statements that compute `out` from a block
    cuda: str  # map: an expression of x and y; row: statements for EACH element i of a row


FAMILIES = {
    "relu": Family("map", "x", "torch.clamp(x, min=0)", "torch.relu(x)", "out = tl.maximum(x, 0.0)", "fmaxf(x, 0.f)"),
    "softmax": Family(
        "row", "x", "(x - x.amax(1, keepdim=True)).exp() / (x - x.amax(1, keepdim=True)).exp().sum(1, keepdim=True)",
        "torch.softmax(x, 1)", "e = tl.exp(x - tl.max(x, 0)); out = e / tl.sum(e, 0)",
        "float top = -3e38f, sum = 0; EACH top = fmaxf(top, x[i]); top = over_block(top, false);"
        " EACH sum += expf(x[i] - top); sum = over_block(sum, true); EACH out[i] = expf(x[i] - top) / sum;"),
    "axpby": Family(
        "map", "x, y", "2 * x + 3 * y", "torch.add(2 * x, y, alpha=3)", "out = 2.0 * x + 3.0 * y",
        "2.f * x + 3.f * y"),
    "rms_norm": Family(
        "row", "x", "x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5)", "F.rms_norm(x, (x.shape[1],), eps=1e-5)",
        "out = x / tl.sqrt(tl.sum(x * x, 0) / COLS + 1e-5)",
        "float sum = 0; EACH sum += x[i] * x[i]; sum = over_block(sum, true);"
        " EACH out[i] = x[i] * rsqrtf(sum / cols + 1e-5f);"),
    "silu": Family(
        "map", "x", "x / (1 + torch.exp(-x))", "F.silu(x)", "out = x * tl.sigmoid(x)", "x / (1.f + expf(-x))"),
    "layer_norm": Family(
        "row", "x", "(x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)",
        "F.layer_norm(x, (x.shape[1],))",
        "x = x - tl.sum(x, 0) / COLS; out = x / tl.sqrt(tl.sum(x * x, 0) / COLS + 1e-5)",
        "float mean = 0, var = 0; EACH mean += x[i]; mean = over_block(mean, true) / cols;"
        " EACH var += (x[i] - mean) * (x[i] - mean); var = over_block(var, true) / cols;"
        " EACH out[i] = (x[i] - mean) * rsqrtf(var + 1e-5f);"),
    "gate": Family(
        "map", "x, y", "x / (1 + torch.exp(-y))", "x * torch.sigmoid(y)", "out = x * tl.sigmoid(y)",
        "x / (1.f + expf(-y))"),
    "below_top": Family(
        "row", "x", "x - torch.sort(x, 1).values[:, -1:]", "x - x.amax(1, keepdim=True)", "out = x - tl.max(x, 0)",
        "float top = -3e38f; EACH top = fmaxf(top, x[i]); top = over_block(top, false); EACH out[i] = x[i] - top;"),
    "hardswish": Family(
        "map", "x", "x * torch.clamp(x + 3, 0, 6) / 6", "F.hardswish(x)",
        "out = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0",
        "x * fminf(fmaxf(x + 3.f, 0.f), 6.f) / 6.f"),
    "lerp": Family(
        "map", "x, y", "x + 0.25 * (y - x)", "torch.lerp(x, y, 0.25)", "out = x + 0.25 * (y - x)",
        "x + 0.25f * (y - x)"),
}  # fmt: skip

# The shapes of KernelBench's level-1 problems 19 and 23: 6.4 GB of inputs.
LARGE = {
    "relu_large": Family("map", "x", "torch.relu(x)", "torch.clamp(x, min=0)", "", ""),
    "softmax_large": Family("row", "x", "torch.softmax(x, dim=1)", "F.softmax(x, dim=1)", "", ""),
}
LARGE_ROWS, LARGE_COLS = 4096, 393_216

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, {arguments}):
        return {reference}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""

MODEL = """import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    variant = {number}

    def forward(self, {arguments}):
        return {call}
"""

TRITON = """import torch
import triton
import triton.language as tl


@triton.jit
def {name}({pointers}, out_ptr, COLS: tl.constexpr):
    place = tl.program_id(0) * COLS + tl.arange(0, COLS)
{loads}
    {body}
    tl.store(out_ptr + place, out)


class ModelNew(torch.nn.Module):
    def forward(self, {arguments}):
        out = torch.empty_like(x)
        {name}[({grid},)]({arguments}, out, COLS={cols}, num_warps={warps})
        return out
"""

CUDA_MAP = """__global__ void {name}({parameters}, float* out, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
{loads}
  out[i] = {body};
}}
"""

CUDA_ROW = """#define EACH for (int i = threadIdx.x; i < cols; i += blockDim.x)

__device__ float over_block(float v, bool is_sum) {{
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) {{
    const float other = __shfl_xor_sync(0xffffffffu, v, step);
    v = is_sum ? v + other : fmaxf(v, other);
  }}
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int i = 1; i < blockDim.x / 32; ++i) v = is_sum ? v + parts[i] : fmaxf(v, parts[i]);
  __syncthreads();
  return v;
}}

__global__ void {name}({parameters}, float* out, int cols) {{
  x += (long long)blockIdx.x * cols;
  out += (long long)blockIdx.x * cols;
  {body}
}}
"""

INLINE = """import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
{source}
torch::Tensor {name}_call({tensors}) {{
  auto out = torch::empty_like(x);
  {name}<<<{grid}, {block}>>>({data}, out.data_ptr<float>(), {last});
  return out;
}}
'''
built = load_inline(name="{name}_built", cpp_sources="torch::Tensor {name}_call({tensors});", cuda_sources=SOURCE,
                    functions=["{name}_call"])


class ModelNew(torch.nn.Module):
    def forward(self, {arguments}):
        return built.{name}_call({arguments})
"""

BLOCKS = (128, 256, 512)


@dataclass(frozen=True)
class Job:
    label: str
    backend: str
    problem: Path
    kernel: Path


@dataclass(frozen=True)
class Problem:
    name: str
    family: Family
    rows: int
    cols: int  # a power of two, except in problems for torch alone
    draw: str = "randn"

    def text(self) -> str:
        names = self.family.arguments.split(", ")
        inputs = ", ".join(f"torch.{self.draw}({self.rows}, {self.cols})" for _ in names)
        return PROBLEM.format(arguments=self.family.arguments, reference=self.family.reference, inputs=inputs)

    def kernel(self, backend: str, number: int) -> dict[str, str]:
        """Returns the files by suffix. `number` is part of the compiled code's name, so that all builds differ."""
        family, names = self.family, self.family.arguments.split(", ")
        name, block = f"{self.name}_{number}", BLOCKS[number % len(BLOCKS)]
        if backend == "torch":
            return {".py": MODEL.format(number=number, arguments=family.arguments, call=family.torch)}
        if backend == "triton":
            pointers = ", ".join(f"{x}_ptr" for x in names)
            loads = "\n".join(f"    {x} = tl.load({x}_ptr + place)" for x in names)
            text = TRITON.format(name=name, pointers=pointers, loads=loads, body=family.triton,
                                 arguments=family.arguments, grid=self.rows, cols=self.cols,
                                 warps=block // 64)  # fmt: skip
            return {".py": text}
        is_map = family.shape == "map"
        suffix = "_all" if is_map else ""  # a map's single element has the plain name
        parameters = ", ".join(f"const float* {x}{suffix}" for x in names)
        loads = "\n".join(f"  const float {x} = {x}_all[i];" for x in names)
        source = (CUDA_MAP if is_map else CUDA_ROW).format(
            name=name, parameters=parameters, loads=loads, body=family.cuda
        )
        n = self.rows * self.cols
        grid, last = (-(-n // block), n) if is_map else (self.rows, self.cols)
        if backend == "torch_cuda":
            tensors = ", ".join(f"torch::Tensor {x}" for x in names)
            data = ", ".join(f"{x}.data_ptr<float>()" for x in names)
            text = INLINE.format(
                source=source,
                name=name,
                tensors=tensors,
                grid=grid,
                block=block,
                data=data,
                last=last,
                arguments=family.arguments,
            )
            return {".py": text}
        out = {
            "name": "out",
            "type": "tensor",
            "role": "output",
            "tensor_spec": {"shape": [self.rows, self.cols], "dtype": "float32"},
        }
        arguments = [{"name": x, "type": "tensor", "role": "input"} for x in names]
        arguments += [out, {"name": "n", "type": "int", "value": last}]
        launch = {"grid": {"x": grid, "y": 1, "z": 1}, "block": {"x": block}, "shared_mem_bytes": 0}
        return {".cu": source, ".json": json.dumps({"kernel_name": name, "args": arguments, "launch": launch})}


def problems_of(count: int, rows: int, cols: int) -> list[Problem]:
    """Returns problems of all families in turn; every round has twice as many rows."""
    names = list(FAMILIES)
    found = []
    for i in range(count):
        name, size = names[i % len(names)], rows << (i // len(names))
        found.append(Problem(f"{name}_{size}", FAMILIES[name], size, cols))
    return found


def large_problems() -> list[Problem]:
    return [Problem(name, family, LARGE_ROWS, LARGE_COLS, draw="rand") for name, family in LARGE.items()]


def write_jobs(folder: Path, problems: list[Problem], backends: list[str], count: int) -> list[Job]:
    """Yields jobs problem by problem, as a sweep of samples has them, with the backends in turn."""
    folder.mkdir(parents=True)
    jobs = []
    for number in range(count):
        problem, backend = problems[number * len(problems) // count], backends[number % len(backends)]
        place = folder / f"{problem.name}.py"
        if not place.exists():
            place.write_text(problem.text())
        files = problem.kernel(backend, number)
        for ending, text in files.items():
            (folder / f"{problem.name}_{number}_kernel{ending}").write_text(text)
        kernel = folder / f"{problem.name}_{number}_kernel{min(files)}"
        jobs.append(Job(f"{problem.name}/{number}_{backend}", backend, place, kernel))
    return jobs


def write_lines(path: Path, jobs: list[Job], device: str, trials: dict[str, int]) -> None:
    with path.open("w") as lines:
        for job in jobs:
            line = {
                "id": job.label,
                "problem": str(job.problem),
                "path": str(job.kernel),
                "backend": job.backend,
                "device": device,
                "params": trials,
            }
            lines.write(json.dumps(line) + "\n")
