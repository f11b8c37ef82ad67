"""Namespaces are folders: a source of a room defines its names in the namespace of that room.

A file may declare names of another room's namespace in advance, and may specialise templates of std and of kq. A
namespace below the room's, such as kq::judge::detail, is the room's too.
"""

import re
from pathlib import Path

from cpp import scopes
from house import Case, files, run

# The longest folder that matches counts.
NAMESPACES = {
    "core": "kq",
    "sys": "kq::sys",
    "net": "kq::net",
    "store": "kq::store",
    "broker": "kq::broker",
    "guard": "kq::guard",
    "gpu_worker": "kq::worker",
    "gpu_worker/channel": "kq::channel",
    "gpu_worker/child/launcher": "kq::launcher",
    "gpu_worker/child/runtime": "kq::runtime",
    "gpu_worker/child/sandbox": "kq::sandbox",
    "gpu_worker/judge": "kq::judge",
    "producer": "kq::producer",
    "producer/gateway": "kq::gateway",
    "tools": "kq::tools",
}
SPECIALISATION = re.compile(r"\s*(?:template\s*<[^;{]*>\s*)?(?:[\w:\s]+)<|\s*template\s*<\s*>")
# A declaration in advance has no braces, and begins with what it declares.
DECLARATIONS = re.compile(r"(?:\s*(?:template\s*<[^>]*>\s*)?(?:class|struct|enum|enum class)\s+[\w:\s]+;)*\s*")


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root, ".cc", ".h", ".cu"):
        wanted = namespace_of(path)
        if wanted is None:
            continue
        for scope in sorted(scopes((root / path).read_text(errors="replace")), key=lambda scope: scope.first):
            if scope.kind != "namespace" or scope.name == "" or "(anonymous)" in scope.namespace:
                continue
            name = "::".join(filter(None, (scope.namespace, scope.name)))
            if is_within(name, wanted) or is_within(wanted, name) and holds_only(scope.body, wanted, name):
                continue
            if DECLARATIONS.fullmatch(scope.body) or name == "std":
                continue
            complaints.append(f"{path}:{scope.first}: is in namespace {name}; this folder's is {wanted}")
    return complaints


def namespace_of(path: str) -> str | None:
    folders = [folder for folder in NAMESPACES if path.startswith(folder + "/")]
    return NAMESPACES[max(folders, key=len)] if folders else None


def is_within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(outer + "::")


def holds_only(body: str, wanted: str, name: str) -> bool:
    """A namespace around the room's holds that namespace, specialisations and declarations, and nothing else."""
    rest = body
    for scope in reversed(scopes(body)):
        if not scope.inside:
            lines = rest.split("\n")
            head = "\n".join(lines[scope.first - 1 : scope.last])
            if scope.kind == "namespace" or SPECIALISATION.match(head):
                lines[scope.first - 1 : scope.last] = [""] * (scope.last - scope.first + 1)
                rest = "\n".join(lines)
    return DECLARATIONS.fullmatch(rest.replace(";", "", 0)) is not None


def in_namespace(*parts: str) -> str:
    *names, code = parts
    return "".join(f"namespace {name} {{\n" for name in names) + code + "\n" + "}\n" * len(names)


CASES = [
    Case(
        "right",
        {"core/a.h": in_namespace("kq", "int f();"), "net/a.cc": in_namespace("kq::net", "", "int f() { return 1; }")},
    ),
    Case(
        "nested",
        {"net/a.h": in_namespace("kq", "net", "struct A {};"), "net/b.h": in_namespace("kq::net::zmq", "struct A {};")},
    ),
    Case("the folder below", {"gpu_worker/judge/trial/a.h": in_namespace("kq::judge", "struct A {};")}),
    Case(
        "of core",
        {"net/a.h": in_namespace("kq", "struct A {};")},
        ("net/a.h:1: is in namespace kq; this folder's is kq::net",),
    ),
    Case(
        "of the room around",
        {"gpu_worker/judge/a.h": in_namespace("kq::worker", "struct A {};")},
        ("is in namespace kq::worker",),
    ),
    Case(
        "declared in advance",
        {"net/a.h": in_namespace("kq::store", "class Store;\nstruct Key;") + in_namespace("kq", "struct Job;")},
    ),
    Case(
        "only in the name of a function",
        {
            "net/a.cc": in_namespace(
                "kq::net", "", "TEST(Net, a_namespace_has_a_name_of_many_words_in_this_case) { f(); }"
            )
        },
    ),
    Case("std", {"core/a.h": in_namespace("std", "template <> struct hash<kq::A> { int x; };")}),
    Case(
        "main",
        {
            "broker/shell/main.cc": "int main() { return 0; }\n",
            "broker/a.cc": in_namespace("", "int f() { return 1; }"),
        },
    ),
    Case("other folders are free", {"tests/sim/a.h": in_namespace("sim", "struct A {};")}),
]

if __name__ == "__main__":
    run(rule, CASES)
