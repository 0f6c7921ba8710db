"""JSON Schema of the answers that models are asked for. A model chooses turns by id."""

from collections.abc import Sequence
from typing import Any

from vault_memory.rules.learning.write_policy import LABELS

CHANNEL_KEYS = ("decisions", "agreements", "actions")
"""Keys of an answer about a channel; it also has `memories`"""
KEYS = ("memories", "episodes", "facts", "topics", "ops", *CHANNEL_KEYS, "entities", "verdicts")
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
ENTITY_TYPES = ("person", "organization", "project", "location", "product", "other")
TOPICS = ("work", "tech", "personal", "finance", "admin", "learning", "meta")

MOST_CHOICES = 200
"""Servers refuse longer enums; the reader of answers checks every id anyway"""
ROWS_OF_A_TURN = 3
"""Memories or facts of one turn, on average; a model that repeats itself stops there"""
MOST_OPS = 20
"""Edits of one note in an answer"""

_TEXT: dict[str, Any] = {"type": "string"}
_OPS: dict[str, dict[str, Any]] = {
    "append": {"heading": _TEXT, "line": _TEXT},
    "add_heading": {"heading": _TEXT, "lines": {"type": "array", "items": _TEXT}},
    "remove": {"heading": _TEXT, "match": _TEXT},
    "replace": {"heading": _TEXT, "match": _TEXT, "line": _TEXT},
}


def memories_schema(turn_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the strict schema of an answer with the memories in these turns, and episodes."""
    return _object(
        {
            "memories": _rows(_memory(), turn_ids),
            "episodes": _rows({"text": _TEXT}, turn_ids, rows_of_a_turn=1),
        }
    )


def facts_schema(turn_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the strict schema of an answer with the facts in these turns."""
    names = ("subject", "predicate", "object", "from", "until")
    return _object(
        {
            "facts": _rows(dict.fromkeys(names, _TEXT), turn_ids),
            "entities": _rows(_ENTITY, turn_ids),
        }
    )


def entities_schema() -> dict[str, Any]:
    """Returns the strict schema of an answer with the entities in some items."""
    row = _object({"item": _TEXT, **_ENTITY})
    rows = {"type": "array", "items": row, "maxItems": MOST_CHOICES}
    return _object({"entities": rows})


def verdicts_schema() -> dict[str, Any]:
    """Returns the strict schema of an answer that says which pairs contradict each other."""
    row = _object({"pair": _TEXT, "contradict": _choice(("yes", "no"))})
    rows = {"type": "array", "items": row, "maxItems": MOST_CHOICES}
    return _object({"verdicts": rows})


def channel_schema(turn_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the strict schema of an answer with what a channel decided and plans."""
    text_only: dict[str, Any] = {"text": _TEXT}
    action = dict.fromkeys(("owner", "text", "due"), _TEXT)
    return _object(
        {
            "decisions": _rows(text_only, turn_ids),
            "agreements": _rows(text_only, turn_ids),
            "actions": _rows(action, turn_ids),
            "memories": _rows(_memory(), turn_ids),
        }
    )


def _memory() -> dict[str, Any]:
    # The labels come last: they describe what the model has written by then.
    labels = {name: _choice(values) for name, values in LABELS.items()}
    kinds = {"type": _choice(TYPES), "topic": _choice(TOPICS)}
    return {"text": _TEXT, **kinds, **labels}


def _rows(
    fields: dict[str, Any], turn_ids: Sequence[str], *, rows_of_a_turn: int = ROWS_OF_A_TURN
) -> dict[str, Any]:
    turn: dict[str, Any] = _TEXT
    if 0 < len(turn_ids) <= MOST_CHOICES:
        turn = _choice(turn_ids)
    # The id comes first: a small model then writes about the turn that it chose.
    row = _object({"turn": turn, **fields})
    most = rows_of_a_turn * max(1, len(turn_ids))
    return {"type": "array", "items": row, "maxItems": most}


def ops_schema() -> dict[str, Any]:
    """Returns the schema of an answer that only edits a note."""
    return _object({"ops": _ops()})


def _ops() -> dict[str, Any]:
    variants = [_object({"op": _choice((name,)), **fields}) for name, fields in _OPS.items()]
    return {"type": "array", "items": {"anyOf": variants}, "maxItems": MOST_OPS}


def _choice(values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_ENTITY: dict[str, Any] = {
    "name": _TEXT,
    "type": _choice(ENTITY_TYPES),
    "aliases": {"type": "array", "items": _TEXT, "maxItems": 5},
}
