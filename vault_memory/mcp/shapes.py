"""The shapes of what the tools give back, as JSON schemas: the contract of the command line. Keys may be added."""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
LINES: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2, "description": "first and last, from 1"}


def thing(**properties: Schema) -> Schema:
    """An object with these keys, and perhaps more."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def several(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


FRESHNESS = thing(stale_files=several(TEXT), semantic={"enum": ["ready", "warming", "off"]}, reason=TEXT)
HIT = thing(
    note=TEXT, lines=LINES, heading=TEXT, date=MAYBE_TEXT, scope=TEXT, kind=TEXT, text=TEXT, score={"type": "number"}
)
FACT = thing(
    id=TEXT, subject=TEXT, predicate=TEXT, object=TEXT, valid_from=MAYBE_TEXT, valid_until=MAYBE_TEXT,
    temporary={"type": "boolean"}, confidence={"type": "number"}, ref=TEXT,
)  # fmt: skip

FOUND = thing(hits=several(HIT), freshness=FRESHNESS)
NOTE = thing(note=TEXT, revision=TEXT, text=TEXT, sections=several(TEXT), lines=LINES, total_lines=COUNT)
CONTEXT = thing(
    text=TEXT,
    parts=several(thing(kind=TEXT, note=MAYBE_TEXT, chars=COUNT)),
    cut=several(thing(kind=TEXT, reason=TEXT)),
    freshness=FRESHNESS,
)
REMEMBERED = thing(
    outcome={"enum": ["added", "duplicate", "proposed", "refused", "pending"]}, id=TEXT, note=TEXT, reason=TEXT
)
CHANGED = thing(
    outcome=TEXT, id=TEXT, note=TEXT, before=MAYBE_TEXT, after=MAYBE_TEXT, proposed=several(thing(id=TEXT)),
    rejected=several(thing(reason=TEXT)), pending=several(thing(reason=TEXT)), audit_id=MAYBE_TEXT,
)  # fmt: skip
TAKEN_BACK = thing(
    matches=COUNT,
    removed=several(thing(place=TEXT, count=COUNT, audit_id=MAYBE_TEXT)),
    proposed=several(thing(place=TEXT, count=COUNT, inbox=TEXT)),
    remaining={"anyOf": [{"const": 0}, several(thing(place=TEXT, why=TEXT))]},
)
ABOUT = thing(
    name=TEXT, type=TEXT, aliases=several(TEXT), summary=TEXT, facts=several(FACT), mentions=COUNT, hits=several(HIT)
)
STATS = thing(kinds={"type": "object"}, scopes={"type": "object"}, sources={"type": "object"})
