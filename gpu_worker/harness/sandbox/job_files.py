"""The folder of a job's files as code of the job sees it: a private copy, which the code may write and which ends with
the child.

The worker puts the files into a folder that the child can only read (Job.given). Before code of the job runs, the child
copies them to Job.source, which lies in the child's scratch memory and counts toward the limit of its bytes and files.
What is written there changes nothing that was judged or built:

  - A module of the job is compiled from the bytes of Job.given, under the path of its copy. linecache holds these bytes
    too, so inspect and triton read the text that the guard judged.
  - The files that the build made, such as libraries of extensions, are not copied. The harness reads them in Job.given.
"""

import importlib.util
import io
import linecache
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

from harness.children.job import Job
from harness.extensions.manifest import MANIFEST

# The name of the archive of compiled Triton kernels (kernels/triton_precompile.py).
TRITON_ARCHIVE = "kq_triton.zip"


class GivenSourceLoader(SourceFileLoader):
    """Loads one module from the worker's file, whatever the copy of the file at `path` says by now."""

    def __init__(self, name: str, path: str, given: Path) -> None:
        super().__init__(name, path)
        self._given = given

    def get_data(self, path: str) -> bytes:
        if path == self.path:
            return self._given.read_bytes()
        if path.endswith(".pyc"):
            raise OSError(f"{path} is bytecode that code of the job may have written, and is not loaded")
        return super().get_data(path)

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        text = importlib.util.decode_source(self.get_data(self.path))
        # linecache never compares an entry without a modification time with its file.
        linecache.cache[self.path] = (len(text), None, lines_of(text), self.path)
        return code


class JobFinder:
    """Finds the modules of a job's own files. It stands before the finder of sys.path."""

    def __init__(self, source: Path, given: Path) -> None:
        self.source = source
        self._given = given

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        is_own = path is None and name.isidentifier() and (self._given / f"{name}.py").is_file()
        return self.spec(name, f"{name}.py") if is_own else None

    def spec(self, name: str, file: str) -> ModuleSpec | None:
        path = str(self.source / file)
        return importlib.util.spec_from_file_location(
            name, path, loader=GivenSourceLoader(name, path, self._given / file)
        )


def prepare(job: Job, entry: str) -> None:
    """Makes Job.source ready for code of the job, and makes sys.argv and sys.path those of a program whose file is
    `entry`.
    """
    if job.source != job.given:
        copy_files(job.given, job.source)
    sys.argv = [str(job.source / entry)]
    sys.path.insert(0, str(job.source))
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, JobFinder(job.source, job.given))  # type: ignore[arg-type]


def copy_files(given: Path, source: Path) -> None:
    source.mkdir(exist_ok=True)
    for path in given.iterdir():
        if path.is_file() and not is_made_by_build(path.name):
            (source / path.name).write_bytes(path.read_bytes())


def is_made_by_build(name: str) -> bool:
    """Returns whether the file is one that the build adds for the run. No file of a submission has such a name
    (gpu_worker/compile/file_guard.cc).
    """
    return name in (MANIFEST, TRITON_ARCHIVE) or (name.startswith("kq_extension_") and name.endswith(".so"))


def spec_of(name: str, path: Path) -> ModuleSpec | None:
    """Returns how to import the job's file at `path` under a name."""
    for finder in sys.meta_path:
        if isinstance(finder, JobFinder) and finder.source == path.parent:
            return finder.spec(name, path.name)
    return importlib.util.spec_from_file_location(name, path)


def lines_of(text: str) -> list[str]:
    """Returns the lines as linecache splits them: at line feeds only, each with one at its end."""
    lines = io.StringIO(text).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines
