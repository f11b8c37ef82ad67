"""The software bill of materials names what is in the programs, and equal builds give equal documents.

sbom.py itself checks the document against the schema of CycloneDX. scripts/package puts it beside the packages.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["KQ_BIN"]).parent
SKIPPED = 77
EPOCH = "1790000000"
# Of each kind of use, a library that no build of kq can lack.
EXPECTED = {
    "nlohmann-json3-dev": "compiled into programs",
    "librocksdb-dev": "compiled into programs",
    "libzmq5": "loaded by programs",
    "vl-convert-python": "in reports",
    "pyzmq": "required by the Python client as pyzmq>=24",
}


def written(folder: str, name: str) -> bytes:
    file = Path(folder) / name
    words = ["--version", "1.2.3", "--epoch", EPOCH, "--build", str(BUILD)]
    words += ["--wheel-project", str(ROOT / "python/pyproject.toml"), str(file)]
    script = str(ROOT / "deploy/sbom/sbom.py")
    done = subprocess.run([sys.executable, "-P", script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return file.read_bytes()


class Sbom(unittest.TestCase):
    def test_names_what_is_in_the_programs(self) -> None:
        with tempfile.TemporaryDirectory(prefix="kq-sbom.") as folder:
            first = written(folder, "first")
            self.assertEqual(first, written(folder, "second"))
        document = json.loads(first)
        self.assertEqual(document["metadata"]["component"]["version"], "1.2.3")
        uses = {one["name"]: one["properties"][0]["value"] for one in document["components"]}
        self.assertEqual({name: uses.get(name) for name in EXPECTED}, EXPECTED)
        for one in document["components"]:
            with self.subTest(one["name"]):
                self.assertTrue(one["purl"].startswith("pkg:"))
                self.assertTrue("version" in one or one["properties"][0]["value"].startswith("required"))


if __name__ == "__main__":
    if importlib.util.find_spec("cyclonedx") is None:
        print("skipped: this interpreter has no cyclonedx-python-lib; .ci/run installs it into .venv-deploy")
        sys.exit(SKIPPED)
    unittest.main()
