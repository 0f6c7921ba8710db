"""JSON Schema of the answers that models are asked for. A model chooses turns by id."""

from collections.abc import Sequence
from typing import Any

KEYS = ("memories", "facts", "topics", "ops")
TYPES = (
    "identity",
    "preference",
    "relationship",
    "event",
    "activity",
    "plan",
    "context",
    "ephemeral",
)
TOPICS = ("work", "tech", "personal", "finance", "admin", "learning", "meta")

MOST_CHOICES = 200
"""Servers refuse longer enums; the reader of answers checks every id anyway"""
MOST_TOPICS = 60
"""With more turns, only the topics of the memories are asked for"""

_TEXT: dict[str, Any] = {"type": "string"}
_OPS: dict[str, dict[str, Any]] = {
    "append": {"heading": _TEXT, "line": _TEXT},
    "add_heading": {"heading": _TEXT, "lines": {"type": "array", "items": _TEXT}},
    "remove": {"heading": _TEXT, "match": _TEXT},
    "replace": {"heading": _TEXT, "match": _TEXT, "line": _TEXT},
}


def schema(turn_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the strict schema of an answer about these turns."""
    turn = _TEXT
    if 0 < len(turn_ids) <= MOST_CHOICES:
        turn = _choice(turn_ids)
    evidence = {"type": "array", "items": turn}
    memory = {
        "text": _TEXT,
        "type": _choice(TYPES),
        "topic": _choice(TOPICS),
        "evidence": evidence,
    }
    fact: dict[str, Any] = dict.fromkeys(
        ("subject", "predicate", "object", "from", "until"), _TEXT
    )
    topic: dict[str, Any] = {"type": ["string", "null"], "enum": [*TOPICS, None]}
    topics = dict.fromkeys(turn_ids, topic) if len(turn_ids) <= MOST_TOPICS else {}
    return _object(
        {
            "memories": {"type": "array", "items": _object(memory)},
            "facts": {
                "type": "array",
                "items": _object({**fact, "evidence": evidence}),
            },
            "topics": _object(topics),
            "ops": _ops(),
        }
    )


def ops_schema() -> dict[str, Any]:
    """Returns the schema of an answer that only edits a note."""
    return _object({"ops": _ops()})


def _ops() -> dict[str, Any]:
    variants = [
        _object({"op": _choice((name,)), **fields}) for name, fields in _OPS.items()
    ]
    return {"type": "array", "items": {"anyOf": variants}}


def _choice(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
