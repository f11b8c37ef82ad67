"""No type is defined twice in one namespace: programs that link both definitions have undefined behaviour.

The rule reads headers and sources. Types in anonymous namespaces, in functions and in other types are not visible to
other files, and are left out. Specialisations of templates are definitions of their own and are left out too.
"""

from collections import defaultdict
from pathlib import Path

from cpp import scopes
from house import Case, files, run

EXEMPT = ("examples/", "tests/adversarial/")


def rule(root: Path) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in files(root, ".cc", ".h", ".cu", ".cuh"):
        if path.startswith(EXEMPT):
            continue
        for scope in scopes((root / path).read_text(errors="replace")):
            if scope.kind == "type" and not {"type", "function", "other"} & set(scope.inside):
                if "(anonymous)" not in scope.namespace and "::" not in scope.name:
                    places[f"{scope.namespace}::{scope.name}"].append(f"{path}:{scope.first}")
    return [
        f"{found[-1]}: defines {name}, which {' and '.join(found[:-1])} defines too; give each its own name or "
        "namespace"
        for name, found in sorted(places.items())
        if len(found) > 1
    ]


def within(namespace: str, code: str) -> str:
    return f"#pragma once\nnamespace {namespace} {{\n{code}\n}}\n"


CASES = [
    Case("in two namespaces", {"a.h": within("kq::a", "struct T {};"), "b.h": within("kq::b", "struct T {};")}),
    Case(
        "twice",
        {
            "a.h": within("kq", "struct T { int x{1}; };"),
            "b.h": within("kq", "template <class X>\nclass T final : public B {};"),
        },
        ("b.h:3: defines kq::T, which a.h:3 defines too",),
    ),
    Case(
        "an enum",
        {"a.h": within("kq", "enum class E { a };"), "b.h": within("kq", "enum class E : int { a };")},
        ("b.h:3:",),
    ),
    Case("a source", {"a.h": within("kq", "struct T {};"), "b.cc": within("kq", "struct T {};")}, ("b.cc:3:",)),
    Case(
        "nested namespaces",
        {"a.h": within("kq", "namespace x { struct T {}; }"), "b.h": within("kq::x", "struct T {};")},
        ("b.h:3",),
    ),
    Case("declared only", {"a.h": within("kq", "struct T {};"), "b.h": within("kq", "struct T;\nclass U;")}),
    Case("anonymous", {"a.cc": within("kq", "namespace { struct T {}; }"), "b.cc": within("kq", "struct T {};")}),
    Case(
        "nested types",
        {
            "a.h": within("kq", "struct A { struct T {}; };"),
            "b.h": within("kq", "struct T {};\nstruct B { struct T {}; };"),
        },
    ),
    Case(
        "comments and strings",
        {"a.h": within("kq", "struct T {};"), "b.h": within("kq", '// struct T {};\nauto x = "struct T {";')},
    ),
    Case(
        "in functions",
        {"a.cc": within("kq", "int f() { struct T {}; return 1; }"), "b.cc": within("kq", "struct T {};")},
    ),
    Case(
        "specialised",
        {
            "a.h": within("std", "template <> struct hash<A> {};"),
            "b.h": within("std", "template <> struct hash<B> {};"),
        },
    ),
]

if __name__ == "__main__":
    run(rule, CASES)
