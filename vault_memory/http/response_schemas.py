"""The shapes of the answers, as JSON schemas: what the contract of the command line promises, too."""

from typing import Any

Schema = dict[str, Any]

REVISION: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
DAY: Schema = {"type": ["string", "null"], "format": "date"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


def ref(name: str, among: str = "schemas") -> Schema:
    return {"$ref": f"#/components/{among}/{name}"}


def thing(
    required: str, optional: Schema | None = None, /, **properties: Schema
) -> Schema:
    """An object; keys may be added in later versions, so others are no error. `required` are texts, by name."""
    texts: Schema = {name: {"type": "string"} for name in required.split()}
    return {
        "type": "object",
        "required": [*texts, *properties],
        "properties": {**texts, **properties, **(optional or {})},
    }


def several(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


ANSWERS: dict[str, Schema] = {
    "Error": thing("", error=thing("code message hint")),
    "Health": thing("", ok={"const": True}),
    "Freshness": thing(
        "reason",
        stale_files=TEXTS
        | {
            "description": "Notes of yours that are newer on disk than what was searched"
        },
        semantic={"enum": ["ready", "warming", "off"]},
    ),
    "Hit": thing(
        "note heading scope kind text",
        {
            "why": thing("", terms={"type": "object"}, arms={"type": "object"}),
            "pending": {"type": "boolean"},
        },
        lines={
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": 2,
            "maxItems": 2,
        },
        date=DAY,
        score={"type": "number"},
    ),
    "Found": thing(
        "",
        {"left_out": {"type": "object", "additionalProperties": {"type": "integer"}}},
        hits=several(ref("Hit")),
        freshness=ref("Freshness"),
    ),
    "ContextBlock": thing(
        "text",
        parts=several(thing("kind note", chars={"type": "integer", "minimum": 0})),
        cut=several(thing("kind reason")),
        freshness=ref("Freshness"),
    ),
    "Recorded": thing(
        "", id={"type": ["string", "null"]}, note={"type": ["string", "null"]}
    ),
    "Ended": thing("", committed=TEXTS, held=TEXTS, dropped=TEXTS),
    "Notes": thing(
        "",
        notes=several(
            thing(
                "note scope kind",
                revision=REVISION,
                bytes={"type": "integer", "minimum": 0},
            )
        ),
    ),
    "NoteText": thing("note text", revision=REVISION, sections=TEXTS),
    "Remembered": thing(
        "id note reason",
        outcome={"enum": ["added", "duplicate", "proposed", "refused", "pending"]},
    ),
    "Known": thing(
        "",
        facts=several(
            thing(
                "id subject predicate object ref origin scope",
                valid_from=DAY,
                valid_until=DAY,
                temporary={"type": "boolean"},
                confidence={"type": "number"},
            )
        ),
    ),
}
"""By name; those that come back from a call are named in the table of routes"""
