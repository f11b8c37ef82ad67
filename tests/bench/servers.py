"""The servers that the benchmark measures: starting each with its own data directory, and reading its resource use."""

import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

START_S_MAX = 60
STOP_S_MAX = 30
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


Figures = dict[str, float]


class Trouble(Exception):
    """A measurement failed. The text is printed in the table in place of a figure."""


@dataclass(frozen=True)
class Kind:
    """A kind of server."""

    name: str
    program: str  # the program that must be installed
    package: str  # the Debian package with the program
    durable_ack: str  # what the server guarantees when it acknowledges a job
    jobs_per_s: int  # the approximate rate, from which the number of jobs of a run is chosen


KINDS = (
    Kind("kq", "", "", "group commit, synced before the acknowledgement", 40_000),
    Kind("beanstalkd", "beanstalkd", "beanstalkd", "-f 0: fsync of each job before INSERTED", 3_000),
    Kind("redis", "redis-server", "redis-server", "appendfsync always: fsync before each turn's replies", 20_000),
    Kind(
        "rabbitmq",
        "/usr/lib/rabbitmq/bin/rabbitmq-server",
        "rabbitmq-server",
        "quorum queue of one node, publisher confirms",
        20_000,
    ),
)


def is_installed(kind: Kind) -> bool:
    return not kind.program or shutil.which(kind.program) is not None


def version(kind: Kind) -> str:
    if not kind.package:
        return "this tree"
    listing = subprocess.run(["dpkg-query", "-W", "-f=${Version}", kind.package], capture_output=True, text=True)
    return listing.stdout or "unknown"


def free_port() -> int:
    """Returns a free port whose successor is free too, because kq-broker needs two.

    The port is below the range from which the kernel picks ports for outgoing connections. Otherwise a client that
    keeps connecting while its server is down could be given the server's own port and connect to itself.
    """
    for _ in range(100):
        port = random.randrange(10_000, 32_000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise Trouble("no two free ports in a row")


class Server:
    """A running server in its own session. Its directory exists until stop()."""

    def __init__(
        self, kind: Kind, programs: Path, directory: Path, keys: Path | None = None, replicas: int | None = None
    ):
        """`replicas` is that of kq-broker; with it, await_ready() starts a standby on the same disk."""
        self.kind = kind
        self._replicas = replicas
        self._standby: subprocess.Popen[bytes] | None = None
        self._metrics_port = free_port()
        self.port = free_port()
        self.directory = directory
        self._programs = programs
        self._keys = keys
        self._helper: subprocess.Popen[bytes] | None = None
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.start()

    def start(self) -> None:
        command, environment = getattr(self, f"_{self.kind.name}")()
        self.started_ns = time.monotonic_ns()
        with open(self.directory / "output.log", "ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=self.directory,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def await_ready(self) -> None:
        end = time.monotonic() + START_S_MAX
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            if self._answers() and (self._replicas is None or self._has_standby()):
                return
            time.sleep(0.05)
        raise Trouble(f"{self.kind.name} did not start: {self._last_words()}")

    def _has_standby(self) -> bool:
        """Starts the standby on the first call. Returns whether it has a copy of everything."""
        if self._standby is None:
            words = ["--bind", f"tcp://127.0.0.1:{free_port()}", "--store", str(self.directory / "standby")]
            words += ["--follow", f"tcp://127.0.0.1:{self.port}", *self._lease(), "--log-level", "warning"]
            with open(self.directory / "standby.log", "ab") as output:
                self._standby = subprocess.Popen([str(self._programs / "kq-broker"), *words], stderr=output)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics") as answer:
                return b"\nkq_standby_in_sync 1" in answer.read()
        except OSError:
            return False

    def _lease(self) -> list[str]:
        return ["--lease-file", str(self.directory / "lease"), "--replicas", str(self._replicas)]

    def _answers(self) -> bool:
        # RabbitMQ listens before it can create queues.
        if self.kind.name == "rabbitmq":
            return "Server startup complete" in (self.directory / "output.log").read_text(errors="replace")
        try:
            with socket.create_connection(("127.0.0.1", self.port), 0.5):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """Kills the server with SIGKILL. start() starts it again on the same data."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._standby is not None:  # first, so that it does not take over
            self._standby.kill()
            self._standby.wait()
        self._process.terminate()
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
        for pid in self._pids():
            os.kill(pid, signal.SIGKILL)
        if self._helper is not None:
            self._helper.kill()
            self._helper.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def cpu_s(self) -> float:
        """Returns the processor time of all processes of the server so far."""
        return sum(float(fields[11]) + float(fields[12]) for _, fields in self._stats()) * TICK_S

    def resident_mb(self) -> float:
        pages = sum(int(fields[21]) for _, fields in self._stats())
        return pages * resource.getpagesize() / 1e6

    def _stats(self) -> list[tuple[int, list[str]]]:
        """Returns, for each process of the session, its pid and the fields of /proc/PID/stat after the name."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._process.pid:
                found.append((int(entry.name), fields))
        return found

    def _pids(self) -> list[int]:
        return [pid for pid, _ in self._stats()]

    def _last_words(self) -> str:
        lines = (self.directory / "output.log").read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "there is no output"

    def _kq(self) -> tuple[list[str], dict[str, str]]:
        store = self.directory / "store"
        words = ["--bind", f"tcp://127.0.0.1:{self.port}", "--store", str(store), "--log-level", "warning"]
        if self._keys is not None:
            words += ["--keys", str(self._keys)]
        if self._replicas is not None:
            words += [*self._lease(), "--metrics-port", str(self._metrics_port)]
        return [str(self._programs / "kq-broker"), *words], {}

    def _beanstalkd(self) -> tuple[list[str], dict[str, str]]:
        words = ["-l", "127.0.0.1", "-p", str(self.port), "-b", str(self.directory), "-f", "0"]
        return ["beanstalkd", *words], {}

    def _redis(self) -> tuple[list[str], dict[str, str]]:
        words = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory), "--save", ""]
        return ["redis-server", *words, "--appendonly", "yes", "--appendfsync", "always"], {}

    def _rabbitmq(self) -> tuple[list[str], dict[str, str]]:
        # Erlang's port mapper is started here, so that it can be stopped too.
        mapper_port = free_port()
        mapper = shutil.which("epmd") or sys.exit("bench broker: RabbitMQ is there, but not Erlang's epmd")
        self._helper = subprocess.Popen([mapper, "-port", str(mapper_port), "-address", "127.0.0.1"])
        (self.directory / "plugins").write_text("[].\n")
        environment = {
            "RABBITMQ_NODENAME": "kq-bench@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(mapper_port + 1),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "data"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "plugins"),
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "HOME": str(self.directory),
        }
        return [self.kind.program], environment
