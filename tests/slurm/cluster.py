"""A Slurm cluster of several nodes on one machine, as processes of the caller in a folder of their own.

Debian builds Slurm with several slurmd on one host (MULTIPLE_SLURMD). Each node has one fake GPU, `gpu:fake`, whose
device file is /dev/null, so that the cluster places one worker on each node. There is a partition `main`, whose jobs
may be pre-empted and then run again, and a partition `urgent`, whose jobs pre-empt them. The caller must be root.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ports import free_port  # in tests/e2e, which slurm_test.py adds to the path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
START_LIMIT_S = 120

CONF = """\
ClusterName=kqtest
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=5
KillWait=8
GresTypes=gpu
NodeName=n[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] \\
    CPUs=4 RealMemory=1000 Gres=gpu:fake:1
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=urgent Nodes=n[1-{nodes}] MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""


def missing() -> str:
    """Returns why no cluster can be started here, or an empty text."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if absent:
        return f"Slurm is not installed: there is no {', '.join(absent)} (Debian: slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "slurmd starts jobs of other users, so this test needs root"


def descendants(pids: set[int]) -> set[int]:
    """Returns these processes and all their descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


class Cluster:
    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.environment = os.environ | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
        }
        self.log = (folder / "log").open("wb")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "state").mkdir()
        first = free_port()  # that of slurmctld, before those of the nodes
        (folder / "slurm.conf").write_text(
            CONF.format(folder=folder, port=first, nodes=nodes, first=first + 1, last=first + nodes)
        )
        (folder / "gres.conf").write_text(f"NodeName=n[1-{nodes}] Name=gpu Type=fake File=/dev/null\n")
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)

    def start(self) -> None:
        """Starts the daemons and returns once every node is idle."""
        munge = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munge.pid", "seed-file": "munge.seed"}
        words = [f"--{name}={self.folder / file}" for name, file in munge.items()]
        self.spawn("munged", "munged", "--foreground", "--force", "--num-threads=2", "--origin=127.0.0.1", *words)
        self.wait(lambda: (self.folder / "munge.sock").exists(), "munged listens")
        self.spawn("slurmctld", "slurmctld", "-D", "-i")
        for name in self.names:
            self.start_node(name)
        self.wait(lambda: self.node_states() == ["idle"] * len(self.names), "every node is idle")

    def start_node(self, name: str) -> None:
        self.spawn(name, "slurmd", "-D", "-N", name)

    def spawn(self, name: str, *words: str) -> None:
        # The daemons end with this process, however it ends.
        self.processes[name] = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            cwd=self.folder,
            start_new_session=True,
        )

    def run(self, *words: str, may_fail: bool = False) -> str:
        """Runs a command of Slurm and returns its output."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, check=False, timeout=60, cwd=self.folder
        )
        if done.returncode != 0 and not may_fail:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def wait(self, condition, what: str) -> None:
        end = time.monotonic() + START_LIMIT_S
        while not condition():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if dead or time.monotonic() > end:
                raise AssertionError(f"'{what}' was not reached; ended: {dead}\n{self.logs()}")
            time.sleep(0.05)

    def node_states(self) -> list[str]:
        done = subprocess.run(
            ["sinfo", "-h", "-N", "-p", "main", "-o", "%t"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    def jobs(self) -> dict[str, tuple[str, str]]:
        """Returns state and node of each job and array task that has not ended, by number."""
        lines = self.run("squeue", "-h", "-r", "-o", "%i %T %N").splitlines()
        return {words[0]: (words[1], words[2] if len(words) > 2 else "") for words in map(str.split, lines)}

    def processes_on(self, node: str) -> set[int]:
        """Returns the processes of the jobs on a node: those that slurmstepd has started, and slurmstepd itself."""
        steps = set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                title = (entry / "cmdline").read_bytes().decode(errors="replace")
                if title.startswith("slurmstepd:") and self.owns(entry):
                    steps.add(int(entry.name))
        return {pid for step in steps if self.is_on(step, node) for pid in descendants({step})}

    def owns(self, entry: Path) -> bool:
        return f"SLURM_CONF={self.folder}/slurm.conf".encode() in (entry / "environ").read_bytes().split(b"\0")

    def is_on(self, step: int, node: str) -> bool:
        """Returns whether one of the descendants was started by the slurmd of this node."""
        for pid in descendants({step}) - {step}:
            with contextlib.suppress(OSError):
                if f"SLURMD_NODENAME={node}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    return True
        return False

    def kill_node(self, node: str) -> None:
        """Ends everything on a node at once, as a loss of power would: slurmd, the worker and its children."""
        doomed = self.processes_on(node)
        daemon = self.processes.pop(node)
        daemon.kill()
        # All processes are stopped first, so that none notices and reports the end of another.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in doomed:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        daemon.wait(30)

    def logs(self) -> str:
        return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in self.folder.glob("*log"))

    def close(self) -> None:
        for node in self.names:
            for pid in self.processes_on(node):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait(30)
        self.log.close()
