"""Writes the software bill of materials of the packages: a CycloneDX document in JSON.

    sbom.py --version VERSION --epoch SECONDS --build FOLDER --wheel-project FILE OUTPUT

The document lists what is in the programs, by Debian's metadata of the machine that has built them: the packages whose
code is compiled into a program (the libraries that cmake/packages.cmake names), the libraries that reports hold, the
shared libraries that the programs of FOLDER load, and what the Python client requires. The same build gives the same
document. The document is checked against the schema of CycloneDX before it is written.
"""

import argparse
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import tomllib
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[2]
# cmake/report_files.cmake takes the JavaScript of reports from these packages of Debian and of PyPI.
REPORT_PACKAGE = "node-prismjs"
REPORT_PYTHON_PACKAGE = "vl-convert-python"
COPYRIGHTS = Path("/usr/share/doc")
# The programs that packages hold; the others in build/release/bin are for developers.
INSTALLED = re.compile(r"kq(-(?!bench$|sim$)[a-z]+)?")


def output_of(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"sbom: {' '.join(words)} failed: {done.stderr.strip()}")
    return done.stdout


def compiled_in() -> list[str]:
    """Returns Debian's packages whose code is compiled into programs, as cmake/packages.cmake lists them."""
    text = (ROOT / "cmake/packages.cmake").read_text()
    found = re.search(r"foreach\(library ([^)]+)\)", text)
    if found is None:
        sys.exit("sbom: cmake/packages.cmake has no line 'foreach(library ...)' that lists the libraries")
    return [*found[1].split(), REPORT_PACKAGE]


def loaded_libraries(build: Path) -> set[str]:
    """Returns the real paths of the shared libraries that the installed programs load."""
    programs = [path for path in sorted((build / "bin").iterdir()) if INSTALLED.fullmatch(path.name)]
    if not programs:
        sys.exit(f"sbom: {build}/bin has no program; scripts/build makes them")
    paths = set()
    for program in programs:
        done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
        paths |= set(re.findall(r"=> (/\S+)", done.stdout))  # ldd fails for a script, which loads nothing
    return {str(Path(path).resolve()) for path in paths if not path.startswith(str(build))}


def owners(paths: Iterable[str]) -> set[str]:
    """Returns the packages that own these files. dpkg lists files below /lib or /usr/lib, which are one folder."""
    wanted = set(paths)
    names = sorted(wanted | {path.removeprefix("/usr") for path in wanted})
    # dpkg-query fails where it does not know one of the names, and prints the owners of the others.
    done = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True, check=False)
    owner = {}
    for line in done.stdout.splitlines():
        packages, path = line.split(": ", 1)
        owner[path] = packages.split(":", 1)[0]
    lost = sorted(path for path in wanted if path not in owner and path.removeprefix("/usr") not in owner)
    if lost:
        sys.exit(f"sbom: no package owns {', '.join(lost)}")
    return set(owner.values())


def licences(package: str) -> list[str]:
    """Returns the names of the licences in the machine-readable copyright file of the package."""
    file = COPYRIGHTS / package / "copyright"
    text = file.read_text(errors="replace") if file.exists() else ""
    if not text.startswith("Format:"):
        return []
    return sorted({name.strip() for name in re.findall(r"^License:[ \t]*(\S.*)$", text, re.MULTILINE)})


def debian_components(packages: set[str], how: str) -> Iterator[Component]:
    fields = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}\n"
    for line in output_of(["dpkg-query", "-W", f"-f={fields}", *sorted(packages)]).splitlines():
        name, version, architecture, source, _ = line.split("\t")
        address = PackageURL("deb", "debian", name, version, {"arch": architecture, "upstream": source})
        yield Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=version,
            purl=address,
            bom_ref=str(address),
            licenses=[DisjunctiveLicense(name=licence) for licence in licences(name)],
            properties=[Property(name="kq:use", value=how)],
        )


def report_component() -> Component:
    """Returns the package whose Vega is in reports, with the version that scripts/requirements.txt pins."""
    pins = (ROOT / "scripts/requirements.txt").read_text()
    found = re.search(rf"^{REPORT_PYTHON_PACKAGE}==(\S+)$", pins, re.MULTILINE)
    if found is None:
        sys.exit(f"sbom: scripts/requirements.txt does not pin {REPORT_PYTHON_PACKAGE}")
    address = PackageURL("pypi", None, REPORT_PYTHON_PACKAGE, found[1])
    return Component(
        type=ComponentType.LIBRARY,
        name=REPORT_PYTHON_PACKAGE,
        version=found[1],
        purl=address,
        bom_ref=str(address),
        properties=[Property(name="kq:use", value="in reports")],
    )


def python_components(project: Path) -> Iterator[Component]:
    for requirement in tomllib.loads(project.read_text())["project"]["dependencies"]:
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None, requirement
        address = PackageURL("pypi", None, name[0].lower())
        yield Component(
            type=ComponentType.LIBRARY,
            name=name[0],
            purl=address,
            bom_ref=str(address),
            properties=[Property(name="kq:use", value=f"required by the Python client as {requirement}")],
        )


def document(version: str, epoch: int, build: Path, project: Path) -> str:
    address = PackageURL("generic", None, "kq", version)
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{address}@{epoch}"))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    kq = Component(
        type=ComponentType.APPLICATION,
        name="kq",
        version=version,
        purl=address,
        bom_ref=str(address),
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
    )
    bom.metadata.component = kq
    static = set(compiled_in())
    parts = [
        *debian_components(static - {REPORT_PACKAGE}, "compiled into programs"),
        *debian_components({REPORT_PACKAGE}, "in reports"),
        report_component(),
        *debian_components(owners(loaded_libraries(build)) - static, "loaded by programs"),
        *python_components(project),
    ]
    bom.components.update(parts)
    bom.register_dependency(kq, parts)
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"sbom: the document is not valid CycloneDX 1.6: {error}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True, help="the version of kq")
    parser.add_argument("--epoch", type=int, required=True, help="the time of the document, in seconds")
    parser.add_argument("--build", type=Path, required=True, help="the folder of the build")
    parser.add_argument("--wheel-project", type=Path, required=True, help="the pyproject.toml of the Python client")
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    given.output.write_text(document(given.version, given.epoch, given.build.resolve(), given.wheel_project) + "\n")


if __name__ == "__main__":
    main()
