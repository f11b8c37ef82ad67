"""Runs the commands of docs/operator/packages.md on a bare Debian 12, in the order of the document: installs the
packages, starts their units, submits a kernel, upgrades and purges the packages. Builds and runs the images of
deploy/container.
"""

import os
import re
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/operator/packages.md"
FIRST_BOARD_S = 180
LAYERS = "uid,user,pid,mount,ipc,net,uts,rlimits,landlock,seccomp"
SKIPPED = 77


def commands() -> dict[str, str]:
    """Returns the commands of the document by heading."""
    sections = re.split(r"^## ", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        if block := re.search(r"^```bash\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            found[section.split("\n", 1)[0]] = block[1]
    return found


def python_prefix() -> Path:
    """Returns the environment with torch. scripts/test may name an interpreter beside a link to that environment."""
    named = os.environ.get("KQ_PYTHON") or str(ROOT / ".venv/bin/python")
    return (Path(named).parent.parent / "lib").resolve().parent


class Packages(unittest.TestCase):
    system: debian.Debian
    packages: Path
    images: debian.Images

    @classmethod
    def setUpClass(cls) -> None:
        cls.system = debian.Debian(python_prefix())
        cls.addClassCleanup(cls.system.remove)
        cls.packages = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="kq-packages.", dir="/var/tmp")))
        for release in ("1", "2"):
            debian.check(
                [str(ROOT / "scripts/package"), "--only", "deb", "--release", release, str(cls.packages / release)]
            )
        cls.images = debian.Images(cls.system.root, cls.packages / "1")
        cls.addClassCleanup(cls.images.remove)
        cls.system.add_systemd()
        shutil.copytree(cls.packages, cls.system.root / "packages")

    def test_commands_of_the_document(self) -> None:
        steps, system = commands(), self.system
        system.run("cd /packages/1 && " + steps["Install"])
        enabled = system.run("systemctl is-enabled kq-broker kq-worker kq-gateway", expect=None)
        self.assertEqual(enabled.split(), ["disabled"] * 3)

        system.start()
        begun = time.monotonic()
        system.run(steps["Start"])
        started = time.monotonic() - begun
        self.assertIn("right_fast_torch", system.run(steps["First board"]))
        took = time.monotonic() - begun
        print(f"packages: units up after {started:.1f} s, first board after {took:.1f} s")
        self.assertLess(took, FIRST_BOARD_S)
        rows = system.run("kq dump --run first --columns label,verdict,sandbox")
        self.assertIn("right_fast_torch,passed", rows)
        self.assertIn(LAYERS, rows)
        self.assertIn("1 passed", system.run("kq results first"))
        health = 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8000/health").read().decode())'
        self.assertIn('"status"', system.run(f"python3 -c '{health}'"))
        self.assertEqual(system.run("python3 -c 'import kq; print(kq.Client().status().queued)'").strip(), "0")
        self.assertIn("usage: kq mcp", system.run("kq mcp --help"))
        self.assertIn("kq-submit", system.run("zcat /usr/share/man/man1/kq-submit.1.gz"))

        for unit, exposure in re.findall(
            r"^\| `(.+\.service)` \| .*? \| (\d\.\d \w+) \|", DOCUMENT.read_text(), re.MULTILINE
        ):
            analysis = system.run(f"systemd-analyze security --offline=yes /usr/lib/systemd/system/{unit}", expect=None)
            self.assertIn(f"{unit}: {exposure}", analysis)

        # A job that waits while the broker is replaced, and a setting of the operator, stay.
        system.run("systemctl stop kq-worker && echo '# mine' >> /etc/kq/broker.env")
        system.run(
            "cd /usr/share/doc/kq-client/examples/sweep && kq submit submissions/softmax/right_fast_torch.py"
            " --problem problems/softmax.py --run waits"
        )
        broker = system.run("systemctl show -P MainPID kq-broker")
        system.run("cd /packages/2 && " + steps["Upgrade"])
        self.assertNotEqual(system.run("systemctl show -P MainPID kq-broker"), broker)
        version = system.run("kq --version").split()[1]
        for package in ("kq-broker", "kq-worker"):
            self.assertEqual(system.run(f"dpkg-query -W {package}").split(), [package, f"{version}-2"])
        self.assertIn("# mine", system.run("cat /etc/kq/broker.env"))
        self.assertIn("right_fast_torch", system.run("kq leaderboard --run first"))
        system.run("systemctl start kq-worker && kq submit --help >/dev/null")
        self.wait_for("right_fast_torch,passed", "kq dump --run waits --columns label,verdict")

        system.run("apt-get -y remove kq-broker")
        self.assertIn("store", system.run("ls /var/lib/kq/broker"))
        system.run(steps["Remove"])
        self.assertEqual(system.run("ls -d /var/lib/kq/* /etc/kq/* /usr/bin/kq* 2>/dev/null || true"), "")

    def test_lintian_finds_nothing(self) -> None:
        files = sorted(map(str, (self.packages / "1").glob("*.deb")))
        debian.check(["lintian", "--allow-root", "--fail-on", "error,warning", *files])

    def test_containers(self) -> None:
        gateway = self.images.build("gateway")
        self.assertIn("kq-gateway 0.", self.images.run(gateway, "id -u && kq-gateway --version"))
        broker = self.images.build("broker")
        made = self.images.run(
            broker,
            "id -u; kq ctl keygen --keys $KQ_KEYS --name ada --role submit -o /tmp/ada.key\n"
            "kq-broker --store /var/lib/kq/broker/store & kq ctl queue --key /tmp/ada.key; kill $!; wait $!",
        )
        self.assertIn("10570", made)
        worker = self.images.build("worker", "PYTHON=", "COMPILERS=")
        tested = self.images.run_privileged(
            worker, python_prefix(), f"KQ_PYTHON={debian.PYTHON}/bin/python kq-worker --self-test --devices cpu"
        )
        self.assertIn('"failures":[]', tested)
        self.assertIn(LAYERS.replace(",", '","'), tested)

    def wait_for(self, text: str, script: str) -> None:
        deadline = time.monotonic() + FIRST_BOARD_S
        while text not in self.system.run(script):
            self.assertLess(time.monotonic(), deadline, f"{script} never printed {text}")
            time.sleep(0.5)


if __name__ == "__main__":
    reason = debian.missing()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
