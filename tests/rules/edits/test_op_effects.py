"""What an op of the audit removed and added, and the op with which an undo is recorded."""

from typing import Any

from tests.every import every
from vault_memory.rules.context import rule_archive
from vault_memory.rules.edits.audit_record import RecordedOp
from vault_memory.rules.edits.op_effects import Effect, effects_of, undo_op

ITEM = b"- green\n"


def op(kind: str, **fields: object) -> dict[str, object]:
    return {"op": kind, "heading": "Tea", **fields}


@every(
    ("applied", "effects"),
    [
        (
            RecordedOp(op("append", line="black"), "applied"),
            (Effect("Tea", added=b"- black", lines=("black",)),),
        ),
        (
            RecordedOp(op("add_heading", lines=["a", "b"]), "applied"),
            (Effect("Tea", b"", b"## Tea\n\n- a\n- b\n", True, ("a", "b")),),
        ),
        (RecordedOp(op("remove", match="green"), "applied", ITEM), (Effect("Tea", ITEM),)),
        (
            RecordedOp(op("replace", match="green", line="black"), "applied", ITEM),
            (Effect("Tea", ITEM, b"- black", lines=("black",)),),
        ),
        (
            RecordedOp(op("archive", match="green"), "applied", b"  - green\n\n"),
            (Effect("Tea", b"  - green\n\n"), Effect(rule_archive.ARCHIVED, added=b"- green")),
        ),
        (
            RecordedOp(op("move"), "applied", b"## Tea\n", b""),
            (Effect("Tea", b"## Tea\n", b"", True),),
        ),
        (
            RecordedOp({"op": "undo", "of": op("append", line="x")}, "applied", b"- x", b"- y"),
            (Effect("Tea", b"- x", b"- y"),),
        ),
        (
            RecordedOp({"op": "undo", "of": op("add_heading", lines=[])}, "applied", b"## Tea"),
            (Effect("Tea", b"## Tea", b"", True),),
        ),
        (
            RecordedOp({"op": "undo", "of": op("move")}, "applied", b"", b"## Tea"),
            (Effect("Tea", b"", b"## Tea", True),),
        ),
    ],
)
def test_an_applied_op_has_its_effects(applied: RecordedOp, effects: tuple[Effect, ...]) -> None:
    assert effects_of(applied) == effects


@every(
    "applied",
    [
        RecordedOp(op("append", line="black"), "noop_dup"),
        RecordedOp(op("remove", match="green"), "applied"),
        RecordedOp(op("archive", match="green"), "applied"),
        RecordedOp(op("replace", match="green", line="x"), "applied"),
        RecordedOp(op("fly"), "applied"),
        RecordedOp({"op": "undo"}, "applied", ITEM),
        RecordedOp({"op": "undo", "of": "append"}, "applied", ITEM),
        RecordedOp({"op": "undo", "of": {"op": "append"}}, "applied", ITEM),
    ],
)
def test_an_op_that_did_nothing_or_cannot_be_taken_back_has_none(applied: RecordedOp) -> None:
    assert effects_of(applied) == ()


def test_an_undo_is_recorded_as_that_of_the_op_itself_in_the_section_of_its_effect() -> None:
    appended = op("append", line="black")
    wanted: dict[str, Any] = {"op": "undo", "of": {**appended, "heading": "Drinks"}}

    for recorded in (appended, {"op": "undo", "of": appended}):
        assert undo_op(RecordedOp(recorded, "applied"), Effect("Drinks")) == wanted
