"""Tests what the fork server prepares for its children, in processes of their own because imports stay."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2]
LIMIT_S = 100

PREPARE = """
import os, sys, torch
from harness.extensions import tracing_child
from harness.zygote.imports import without_visible_gpus
with without_visible_gpus():
    print(torch.cuda.device_count(), torch.cuda.is_available())
    tracing_child.prepare()
numbers = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
has_device = any(os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/nvidia") for fd in numbers)
print(torch.cuda.is_initialized(), "libcuda.so" in open("/proc/self/maps").read(), has_device)
print("torch._subclasses.fake_tensor" in sys.modules, os.environ.get("CUDA_VISIBLE_DEVICES"))
"""

# A fork server as ForkServer makes it, but for the sandbox. The forked process waits for a signal before it imports.
IMPORT_AHEAD = """
import os, signal, sys
from harness.zygote.fork_server import ForkServer
server = object.__new__(ForkServer)
server._device, server._cgroups, server._watchdog = "cuda", None, None
server._children, server._are_prepared = {}, set()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
waits_for = [signal.SIGUSR1]
def prepare_once(prepare):
    if waits_for:
        signal.sigwait({waits_for.pop()})
    prepare()
    print(prepare.__name__, "torch._inductor.compile_fx" in sys.modules, file=sys.stderr)
server.prepare_once = prepare_once
held, end = os.pipe()
server.import_ahead()
os.close(end)
print("closed", os.read(held, 1), flush=True)
(pid,) = server._children
os.kill(pid, signal.SIGUSR1)
print(os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status)
server.reap()
print(server._children, "torch._inductor.compile_fx" in sys.modules)
"""


class ImportAhead(unittest.TestCase):
    def test_a_process_of_its_own_imports_and_ends(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", IMPORT_AHEAD],
            env=os.environ | {"PYTHONPATH": str(HARNESS)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,  # the program waits for ever where the forked process holds the pipe
        )
        self.assertEqual(done.stdout, "closed b''\n0\n{} False\n", done.stderr)
        self.assertIn("prepare False\nimport_compiler True\n", done.stderr)


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
