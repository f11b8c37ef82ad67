"""Runs the tree of scripts/package on a bare Ubuntu 24.04: a broker takes a kernel, a gateway answers, and the store is
sound. Jobs are not run, because the system has no torch."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parents[2]
SUITE = "noble"
SKIPPED = 77
PROBE_LIMIT_S = 20
SCRIPT = """
export PATH=/opt/kq/bin:$PATH
. /etc/os-release && echo "$VERSION_ID"
kq-broker --store /tmp/store --log-level warning >/dev/null & broker=$!
cd /opt/kq/examples/sweep
kq submit submissions/relu/right_fast_torch.py --problem problems/relu.py --run first --timeout 60
kq dump --run first --columns label,state
kq-gateway --broker tcp://127.0.0.1:5570 --listen 127.0.0.1:8000 --log-level warning \
  --ready-fd 3 3>/tmp/ready & gateway=$!
until [ -s /tmp/ready ]; do kill -0 $gateway; sleep 0.1; done
kill $gateway && wait $gateway
kill $broker && wait $broker
kq ctl verify --store /tmp/store
"""


def mirror() -> str:
    """Returns where to get Ubuntu: KQ_UBUNTU_MIRROR, or the folder beside the Debian that apt uses."""
    return os.environ.get("KQ_UBUNTU_MIRROR") or debian.mirror().rstrip("/").removesuffix("/debian") + "/ubuntu"


def missing() -> str | None:
    """Returns why this machine cannot run the test, or None."""
    reason = debian.missing()
    if reason is not None:
        return reason
    try:
        urllib.request.urlopen(f"{mirror()}/dists/{SUITE}/Release", timeout=PROBE_LIMIT_S).close()
    except (OSError, ValueError) as error:
        return f"{mirror()} has no Ubuntu 24.04 ({error}); KQ_UBUNTU_MIRROR names a mirror"
    return None


class Ubuntu(unittest.TestCase):
    def test_the_tree_runs_on_ubuntu(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="kq-ubuntu.", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        root = folder / "root"
        # Debian has neither the keys of Ubuntu nor a script for each of its releases, which are all alike.
        made = ["debootstrap", "--no-check-gpg", "--variant=minbase", SUITE, str(root), mirror()]
        debian.check([*made, "/usr/share/debootstrap/scripts/jammy"])
        debian.check([str(ROOT / "scripts/package"), "--only", "tree", str(folder / "packages")])
        (tree,) = (folder / "packages").glob("*.tar.gz")
        debian.check(["tar", "-xzf", str(tree), "-C", str(root / "opt")])
        words = ["systemd-nspawn", "-q", "-D", str(root), "--register=no", "--keep-unit", "--private-network", "--pipe"]
        done = subprocess.run(
            [*words, "--timezone=off", "bash", "-ec", SCRIPT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=debian.COMMAND_LIMIT_S,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("24.04"), done.stdout)
        self.assertIn("right_fast_torch,queued", done.stdout)
        self.assertIn("no problems", done.stdout)


if __name__ == "__main__":
    reason = missing()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
