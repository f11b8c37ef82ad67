"""Tells schemathesis what share/kq.openapi.json cannot: how bodies of JSON Lines are made.

openapi_test.py names this file to schemathesis; KQ_LINES has lines that are submissions, one per line.
"""

import json
import os
from typing import Any

import schemathesis
from hypothesis import strategies

LINES = os.environ["KQ_LINES"].splitlines()

TEXTS = strategies.text(max_size=40)
LEAVES = strategies.none() | strategies.booleans() | strategies.integers() | TEXTS
VALUES = strategies.recursive(LEAVES, lambda one: strategies.lists(one) | strategies.dictionaries(TEXTS, one))


@strategies.composite
def changed_lines(draw: strategies.DrawFn) -> str:
    """Returns a line with one member replaced, removed or added."""
    line = json.loads(draw(strategies.sampled_from(LINES)))
    name = draw(strategies.sampled_from([*line, "color", "tags", "device", "files"]))
    if draw(strategies.booleans()):
        line[name] = draw(VALUES)
    else:
        line.pop(name, None)
    return json.dumps(line)


ANY_LINE = strategies.sampled_from(LINES) | changed_lines() | VALUES.map(json.dumps) | TEXTS
BODIES = strategies.lists(ANY_LINE, max_size=4).map(lambda lines: "\n".join(lines).encode(errors="surrogatepass"))

schemathesis.openapi.media_type("application/jsonl", BODIES, aliases=["application/x-ndjson"])


@schemathesis.hook
def before_load_schema(context: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """Removes the example of JSON Lines, because schemathesis takes no example of a type with bodies of its own."""
    del raw_schema["paths"]["/api/v1/jobs"]["post"]["requestBody"]["content"]["application/jsonl"]["example"]


@schemathesis.serializer("application/jsonl", "application/x-ndjson")
def lines_of(context: schemathesis.SerializationContext, value: object) -> bytes:
    """Returns a body as it was made, and any other value as one line."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()
