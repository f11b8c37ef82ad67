"""Tests what the fork server prepares for its children, in processes of their own because imports stay."""

import os
import subprocess
import sys
import threading
import unittest
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2]
LIMIT_S = 100

PREPARE = """
import os, sys, torch
from harness.extensions import tracing_child
from harness.zygote.fork_server import without_visible_gpus
with without_visible_gpus():
    print(torch.cuda.device_count(), torch.cuda.is_available())
    tracing_child.prepare()
numbers = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
has_device = any(os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/nvidia") for fd in numbers)
print(torch.cuda.is_initialized(), "libcuda.so" in open("/proc/self/maps").read(), has_device)
print("torch._subclasses.fake_tensor" in sys.modules, os.environ.get("CUDA_VISIBLE_DEVICES"))
"""

# A fork server as ForkServer makes it, but for the sandbox. The forked process waits for a byte before each import.
IMPORT_AHEAD = """
import os, sys
from harness.zygote.fork_server import ForkServer
server = object.__new__(ForkServer)
server._device, server._cgroups, server._watchdog = "cuda", None, None
server._children, server._are_prepared = {}, set()
held, end = os.pipe()
def prepare_once(prepare):
    os.read(0, 1)
    prepare()
    print(prepare.__name__, "torch._inductor.compile_fx" in sys.modules, flush=True)
server.prepare_once = prepare_once
server.import_ahead()
os.close(end)
print("closed", os.read(held, 1), flush=True)
(pid,) = server._children
print(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status)
server.reap()
print(server._children, "torch._inductor.compile_fx" in sys.modules)
"""


class ImportAhead(unittest.TestCase):
    def test_a_process_of_its_own_imports_and_ends(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", IMPORT_AHEAD],
            env=os.environ | {"PYTHONPATH": str(HARNESS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            end = threading.Timer(LIMIT_S, program.kill)
            end.start()
            self.addCleanup(end.cancel)
            assert program.stdout is not None
            self.assertEqual(program.stdout.readline(), "closed b''\n", "the process that waits holds the pipe")
            said, _ = program.communicate("xx")
        self.assertEqual(said, "prepare False\nimport_compiler True\n0\n{} False\n")


class Tracing(unittest.TestCase):
    def test_preparing_opens_no_gpu(self) -> None:
        environment = os.environ | {
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
            "PYTHONPATH": str(HARNESS),
            "CUDA_VISIBLE_DEVICES": "0",
        }
        done = subprocess.run(
            [sys.executable, "-c", PREPARE], env=environment, capture_output=True, text=True, timeout=LIMIT_S
        )
        self.assertEqual(done.stdout, "0 False\nFalse False False\nTrue 0\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
