"""No header includes itself through others, and no two folders include each other's headers."""

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

from house import Case, files, lines, run

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
EXEMPT = ("examples/", "tests/adversarial/")

Graph = dict[str, dict[str, str]]  # from -> to -> where the edge stands


def rule(root: Path) -> list[str]:
    headers = {path for path in files(root, ".h", ".cuh") if not path.startswith(EXEMPT)}
    by_file: Graph = {}
    by_folder: Graph = defaultdict(dict)
    for path in sorted(headers):
        by_file[path] = {}
        for number, line in lines(root, path):
            match = INCLUDE.match(line)
            if not match or match.group(1) not in headers:
                continue
            target = match.group(1)
            by_file[path].setdefault(target, f"{path}:{number}")
            own, other = (str(PurePosixPath(name).parent) for name in (path, target))
            if own != other:
                by_folder[own].setdefault(other, f"{path}:{number}")
    return [
        *(told(cycle, by_file, "headers") for cycle in cycles(by_file)),
        *(told(cycle, by_folder, "folders") for cycle in cycles(by_folder)),
    ]


def told(cycle: list[str], graph: Graph, what: str) -> str:
    steps = [f"{graph[one][other]} includes {other}" for one, other in zip(cycle, [*cycle[1:], cycle[0]])]
    return (
        f"{graph[cycle[0]][cycle[1 % len(cycle)]]}: a cycle of {what}: {', '.join(steps)}; move what both need "
        "below both"
    )


def cycles(graph: Graph) -> list[list[str]]:
    """One shortest cycle from each strongly connected part of the graph, from its first node."""
    found = []
    for part in strong_parts(graph):
        if len(part) > 1 or part[0] in graph.get(part[0], {}):
            found.append(shortest_cycle(graph, min(part), set(part)))
    return sorted(found)


def shortest_cycle(graph: Graph, start: str, part: set[str]) -> list[str]:
    came_from: dict[str, str] = {}
    edge = [start]
    while edge:
        following = []
        for node in edge:
            for other in graph.get(node, {}):
                if other == start:
                    path = [node]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return path[::-1]
                if other in part and other not in came_from:
                    came_from[other] = node
                    following.append(other)
        edge = following
    raise AssertionError("a strongly connected part has a cycle through each of its nodes")


def strong_parts(graph: Graph) -> list[list[str]]:
    """Tarjan's algorithm, with an explicit stack."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for begin in graph:
        if begin in order:
            continue
        calls = [(begin, iter(graph.get(begin, {})))]
        order[begin] = low[begin] = len(order)
        stack.append(begin)
        while calls:
            node, others = calls[-1]
            other = next(others, None)
            if other is None:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == order[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif other not in order:
                order[other] = low[other] = len(order)
                stack.append(other)
                calls.append((other, iter(graph.get(other, {}))))
            elif other in stack:
                low[node] = min(low[node], order[other])
    return found


def including(header: str) -> str:
    return f'#pragma once\n#include "{header}"\n'


CASES = [
    Case("a tree", {"core/a.h": "", "core/b.h": including("core/a.h"), "net/c.h": including("core/b.h")}),
    Case(
        "two headers",
        {"core/a.h": including("core/b.h"), "core/b.h": including("core/a.h")},
        ("core/a.h:2: a cycle of headers: core/a.h:2 includes core/b.h, core/b.h:2 includes core/a.h;",),
    ),
    Case(
        "itself",
        {"core/a.h": including("core/a.h")},
        ("core/a.h:2: a cycle of headers: core/a.h:2 includes core/a.h;",),
    ),
    Case(
        "two folders",
        {"a/1.h": including("b/1.h"), "b/1.h": "", "b/2.h": including("a/2.h"), "a/2.h": ""},
        ("a/1.h:2: a cycle of folders: a/1.h:2 includes b, b/2.h:2 includes a;",),
    ),
    Case(
        "a source may include what includes it not",
        {"a/1.cc": '#include "b/1.h"\n', "b/1.h": including("a/1.h"), "a/1.h": ""},
    ),
]

if __name__ == "__main__":
    run(rule, CASES)
