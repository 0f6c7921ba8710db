"""The shapes of what the tools give back, as JSON schemas. Keys may be added.

The keys are those of the command line where both have them. The values are made for a model: each quotation stands
between marks, and there are no scores, hashes or diffs. Each schema has a type, since some hosts refuse others.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
QUOTED: Schema = {"type": "string", "description": "quoted data between marks"}
COUNT: Schema = {"type": "integer", "minimum": 0}
LINES: Schema = {
    "type": "array",
    "items": COUNT,
    "minItems": 2,
    "maxItems": 2,
    "description": "first and last, from 1",
}
NOTICE: Schema = {
    "type": "string",
    "description": "what the marks around quotations mean",
}
MESSAGE: Schema = {"type": "string", "description": "what happened, in words"}


def thing(optional: dict[str, Schema] | None = None, /, **properties: Schema) -> Schema:
    """An object with these keys, perhaps with optional ones, and perhaps with more."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
    }


def several(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


def choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


FRESHNESS = thing(
    stale_files=several(TEXT), semantic=choice("ready", "warming", "off"), reason=TEXT
)
HIT = thing({"date": TEXT}, note=TEXT, lines=LINES, scope=TEXT, kind=TEXT, text=QUOTED)
FACT = thing(id=TEXT, text=QUOTED)

FOUND = thing(
    {"notice": NOTICE}, message=MESSAGE, hits=several(HIT), freshness=FRESHNESS
)
NOTE = thing(
    {"notice": NOTICE, "message": MESSAGE},
    note=TEXT,
    revision=TEXT,
    text=QUOTED,
    lines=LINES,
    total_lines=COUNT,
)
CONTEXT = thing(
    text=QUOTED, cut=several(thing(kind=TEXT, reason=TEXT)), freshness=FRESHNESS
)
REMEMBERED = thing(
    message=MESSAGE,
    outcome=choice("added", "duplicate", "proposed", "refused", "pending"),
    id=TEXT,
    note=TEXT,
    reason=TEXT,
)
CHANGED = thing(
    message=MESSAGE,
    outcome=TEXT,
    id=TEXT,
    note=TEXT,
    reason=TEXT,
    proposed=several(thing(id=TEXT)),
)
TAKEN_BACK = thing(
    message=MESSAGE,
    matches=COUNT,
    removed=several(thing(place=TEXT, count=COUNT)),
    proposed=several(thing(place=TEXT, count=COUNT, inbox=TEXT)),
    remaining=several(thing(place=TEXT, why=TEXT)),
)
ABOUT = thing(
    {"timeline": several(FACT)},
    notice=NOTICE,
    name=TEXT,
    text=QUOTED,
    facts=several(FACT),
    mentions=COUNT,
    hits=several(HIT),
)
STATS = thing(
    message=MESSAGE,
    kinds={"type": "object"},
    scopes={"type": "object"},
    sources={"type": "object"},
)
