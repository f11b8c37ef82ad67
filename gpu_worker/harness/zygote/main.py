"""The program of the zygote: the warm Python process that forks every child of a worker.

    python zygote/main.py --device cpu|cuda --stub libkqstub.so

Descriptor 3 is the socket of the control process; gpu_worker/zygote/zygote.h describes the protocol. The zygote imports
torch, triton and numpy once, which takes seconds, and forks, which takes milliseconds. The zygote never initialises
CUDA, runs no code of a job, and ends when its socket closes.
"""

import argparse
import os
import sys
from pathlib import Path

CONTROL_FD = 3


def main() -> int:
    arguments = parse_arguments()
    set_environment(arguments.device)
    # The folder of this file is a package. A module of a job must neither be found through it nor be hidden by it.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from harness.zygote import fork_server

    del sys.path[0]
    return fork_server.main(
        CONTROL_FD,
        arguments.device,
        arguments.runtime,
        with_cgroups=not arguments.without_cgroups,
        cores=arguments.cores,
        architecture=arguments.architecture,
        shared_code_bytes_max=arguments.shared_code_bytes_max,
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="forks the children of a kq worker; started by kq-worker")
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--stub", dest="runtime", required=True, help="path of libkqstub.so")
    parser.add_argument(
        "--cores",
        type=lambda text: {int(word) for word in text.split(",") if word},
        default=set(),
        help="what children other than builds keep to, like 0,1,8 (default: all of them)",
    )
    parser.add_argument(
        "--arch",
        dest="architecture",
        type=lambda text: int(text.removeprefix("sm_") or 0),
        default=0,
        help="the GPU's architecture, like sm_90, for which device code is decompressed (default: none)",
    )
    parser.add_argument(
        "--shared-code-bytes",
        dest="shared_code_bytes_max",
        type=int,
        default=0,
        help="how many bytes decompressed device code may have (default: none)",
    )
    parser.add_argument(
        "--without-cgroups", action="store_true", help="watch the memory of children, as where no control groups are"
    )
    return parser.parse_args()


def set_environment(device: str) -> None:
    """Sets the environment variables that torch and triton read when they are imported."""
    for pool in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[pool] = "1"
    # Threads of a reference that wait for its next call must not spin on the cores of the submission.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        # Lets torch ask the driver through NVML whether there is a GPU. Asking CUDA would initialise CUDA, and no fork
        # could use it.
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"


if __name__ == "__main__":
    code = main()
    os._exit(code)  # ends at once; Python would take 0.3 s to free what was imported
