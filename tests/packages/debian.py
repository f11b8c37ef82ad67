"""A bare Debian 12 in a folder, by debootstrap, and in it commands and a systemd of its own, by systemd-nspawn."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CONTAINERFILES = Path(__file__).resolve().parents[2] / "deploy/container"
ISOLATION = ("--isolation=chroot",)  # works without control groups of version 2
PYTHON = "/opt/kq"  # where the system finds the host's environment with torch
BOOT_LIMIT_S = 60
COMMAND_LIMIT_S = 300
# systemd-nspawn of Debian 12 does not know the system calls of Landlock, which the worker's sandbox uses.
LANDLOCK = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}


def missing() -> str | None:
    """Returns why this machine cannot run such a system, or None."""
    if os.environ.get("KQ_DEBIAN") != "yes":
        return "the test downloads a Debian 12 and starts it; KQ_DEBIAN=yes allows it"
    if os.geteuid() != 0:
        return "debootstrap and systemd-nspawn need root"
    for program in ("debootstrap", "systemd-nspawn", "lintian", "buildah"):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install debootstrap systemd-container lintian buildah"
    return None


class Debian:
    """One system. add_systemd() completes it, start() boots it and run() runs commands in it. Before start() each
    command is a container of its own with the host's network, which apt needs.
    """

    def __init__(self, python_prefix: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kq-debian.", dir="/var/tmp"))
        self.root = self._folder / "root"
        self._binds = [f"--bind-ro={python_prefix}:{PYTHON}"]
        self._process: subprocess.Popen[bytes] | None = None
        check(["debootstrap", "--variant=minbase", "bookworm", str(self.root), mirror()])
        (self.root / "etc/apt/sources.list").unlink(missing_ok=True)
        shutil.copytree(
            "/etc/apt", self.root / "etc/apt", dirs_exist_ok=True, ignore=shutil.ignore_patterns("preferences.d")
        )
        shutil.copy("/etc/hosts", self.root / "etc/hosts")

    def add_systemd(self) -> None:
        self.run("apt-get -q update && apt-get -q -y install --no-install-recommends systemd systemd-sysv dbus")

    def start(self) -> None:
        """Boots the system with its own systemd and a network of its own, and waits until all its units are up."""
        words = self._nspawn("--boot", "--private-network", f"--system-call-filter={LANDLOCK}")
        with (self._folder / "boot.log").open("wb") as log:
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + BOOT_LIMIT_S
        while self._leader() is None or self.run("systemctl is-system-running --wait", expect=None).strip() not in (
            "running",
            "degraded",
        ):
            assert self._process.poll() is None and time.monotonic() < deadline, (self._folder / "boot.log").read_text(
                errors="replace"
            )
            time.sleep(0.2)

    def stop(self) -> None:
        if self._process is not None:
            self.run("systemctl poweroff", expect=None)
            try:
                self._process.wait(BOOT_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, script: str, expect: int | None = 0) -> str:
        """Runs a script of sh and returns its standard output. Any exit code is taken if `expect` is None."""
        words = ["sh", "-ec", script]
        if self._process is None:
            settings = [f"--setenv={name}={value}" for name, value in self._environment().items()]
            words = self._nspawn("--pipe", *settings, *words)
        else:
            namespaces = [f"--{name}" for name in ("mount", "uts", "ipc", "net", "pid", "cgroup", "root", "wd")]
            entered = ["nsenter", f"--target={self._leader()}", *namespaces]
            words = [*entered, "env", "-i", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), *words]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
        assert expect is None or done.returncode == expect, f"{script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def _leader(self) -> str | None:
        """Returns the id of the system's process 1 as the host has it."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return children[0] if children else None

    def _environment(self) -> dict[str, str]:
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        return {**ENVIRONMENT, **proxies}

    def _nspawn(self, *words: str) -> list[str]:
        return ["systemd-nspawn", "-q", "-D", str(self.root), "--register=no", "--keep-unit", *self._binds, *words]


class Images:
    """The images of deploy/container on a base made of a system's root, in a storage of their own."""

    def __init__(self, root: Path, packages: Path) -> None:
        self._storage = Path(tempfile.mkdtemp(prefix="kq-images.", dir="/var/tmp"))
        self._packages = packages
        base = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", base, str(root), "/")
        self._buildah("commit", "--quiet", base, "kq-base")

    def build(self, name: str, *arguments: str) -> str:
        """Builds an image and returns a container of it."""
        words = [f"--build-arg={argument}" for argument in ("BASE=localhost/kq-base", *arguments)]
        file = CONTAINERFILES / f"{name}.Containerfile"
        self._buildah("bud", *ISOLATION, *words, "-f", str(file), "-t", f"kq-{name}", str(self._packages))
        return self._buildah("from", "--pull-never", f"localhost/kq-{name}")

    def run(self, container: str, script: str) -> str:
        """Runs a script of sh as the image's user, without a network of its own."""
        return self._buildah("run", *ISOLATION, container, "--", "sh", "-ec", script)

    def run_privileged(self, container: str, python_prefix: Path, script: str) -> str:
        """Runs a script as root with every capability, which buildah has no way for, in the files of a container."""
        root = self._buildah("mount", container)
        options = ["-q", "--register=no", "--keep-unit", "--pipe", f"--system-call-filter={LANDLOCK}"]
        return check(
            ["systemd-nspawn", *options, "-D", root, f"--bind-ro={python_prefix}:{PYTHON}", "sh", "-ec", script]
        )

    def remove(self) -> None:
        self._buildah("umount", "--all")
        shutil.rmtree(self._storage, ignore_errors=True)

    def _buildah(self, *words: str) -> str:
        places = [f"--root={self._storage / 'root'}", f"--runroot={self._storage / 'run'}", "--storage-driver=vfs"]
        return check(["buildah", *places, *words]).strip()


def mirror() -> str:
    """Returns the address from which apt of this machine takes Debian 12."""
    listed = check(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Codename: bookworm"])
    assert listed, "apt of this machine has no source of Debian 12 (bookworm)"
    return listed.split()[0]


def check(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout
