"""Ops that were made for one text of a note follow what a person changed in it since."""

from collections.abc import Mapping
from typing import Any

from tests.every import every
from vault_memory.markdown.document import parse
from vault_memory.markdown.merging.three_way import Conflict
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.ops import as_json, op_of
from vault_memory.rules.edits.rebase import (
    REWRITTEN,
    Rebased,
    proposals_for_conflicts,
    rebase_ops,
    renamed,
)

BASE = b"## Tea\n- green\n- white\n- black\n\n## Boats\n- a kayak\n"
APPEND = {"op": "append", "heading": "Tea", "line": "red"}
REMOVE = {"op": "remove", "heading": "Tea", "match": "green"}
REPLACE = {"op": "replace", "heading": "Tea", "match": "green", "line": "sencha"}


def rebased(newer: bytes, *ops: object, **how: Any) -> Rebased:
    return rebase_ops(ops, parse(BASE), parse(newer), "USER.md", **how)


def shown(found: Rebased) -> list[Mapping[str, object] | object]:
    ops = (op_of(op) for op in found.ops)
    return [as_json(op) if op else given for op, given in zip(ops, found.ops, strict=True)]


@every("op", [APPEND, REMOVE, REPLACE, {"op": "archive", "heading": "Tea", "match": "green"}])
def test_an_op_follows_its_renamed_section(op: dict[str, object]) -> None:
    found = rebased(BASE.replace(b"## Tea", b"## Drinks"), op)

    assert shown(found) == [{**op, "heading": "Drinks"}]
    assert found.proposed == ()


@every(
    "value",
    [
        {"op": "fly"},
        7,
        {"op": "add_heading", "heading": "Tea", "lines": ["a"]},
        {"op": "append", "heading": "Unknown", "line": "a"},
    ],
)
def test_what_has_no_section_in_the_base_stays_as_it_is(value: object) -> None:
    assert rebased(b"## Else\n", value).ops == (value,)


def test_a_deleted_section_comes_back_once_with_the_new_items_and_a_question() -> None:
    found = rebased(b"## Boats\n- a kayak\n", APPEND, {**APPEND, "line": "blue"})

    assert shown(found) == [
        {"op": "add_heading", "heading": "Tea", "lines": ["red"]},
        {"op": "append", "heading": "Tea", "line": "blue"},
    ]
    assert [proposal.op["match"] for proposal in found.proposed] == ["red", "blue"]
    assert all("its section Tea was deleted" in proposal.why for proposal in found.proposed)


@every("op", [REMOVE, REPLACE])
def test_an_op_follows_an_item_that_moved(op: dict[str, object]) -> None:
    newer = BASE.replace(b"- green\n", b"").replace(b"- a kayak", b"- a kayak\n- green")

    assert shown(rebased(newer, op)) == [{**op, "heading": "Boats"}]
    copied = BASE.replace(b"- a kayak", b"- a kayak\n- green")
    assert shown(rebased(copied, op)) == [op], "it is still there"
    assert shown(rebased(b"## Tea\n- white\n", op)) == [op], "it is gone"


@every(
    "newer",
    [
        BASE.replace(b"- green", b"- green, two cups"),
        BASE.replace(b"- green", b"- oolong"),
        BASE.replace(b"- green\n", b"").replace(b"- a kayak", b"- a kayak\n- green, iced"),
    ],
)
def test_a_rewrite_of_an_item_that_a_person_reworded_is_proposed_for_the_new_words(
    newer: bytes,
) -> None:
    found = rebased(newer, REPLACE, by_bot=True)

    assert found.ops == ()
    [proposal] = found.proposed
    [new] = [item for item in items_of(parse(newer)) if item.text not in BASE.decode()]
    assert proposal.why == REWRITTEN
    assert (proposal.op["heading"], proposal.op["match"], proposal.op["line"]) == (
        new.heading,
        new.text,
        "sencha",
    )


@every(
    "newer",
    [
        BASE,
        BASE.replace(b"- green\n", b""),
        BASE.replace(b"- green", b"- green, iced\n- green, hot"),
    ],
)
def test_where_nobody_clearly_reworded_the_item_the_op_stays(newer: bytes) -> None:
    found = rebased(newer, REPLACE, by_bot=True)

    assert (shown(found), found.proposed) == ([REPLACE], ())


def test_a_persons_rewrite_meets_the_words_that_it_names() -> None:
    reworded = BASE.replace(b"- green", b"- green, two cups")

    assert shown(rebased(reworded, REPLACE)) == [REPLACE]
    other = BASE.replace(b"- green", b"- oolong")
    assert rebased(other, REPLACE).proposed


def test_what_the_bot_wrote_itself_is_no_persons_rewording() -> None:
    newer = BASE.replace(b"- green", b"- green, two cups")
    bots = [item for item in items_of(parse(newer)) if item.text == "green, two cups"]

    found = rebased(newer, REPLACE, by_bot=True, of_bot=bots)

    assert (shown(found), found.proposed) == ([REPLACE], ())


@every(
    ("newer", "name"),
    [
        (b"## Drinks\n- green\n- white\n- black\n", "Drinks"),
        (b"## Drinks\n- green\n- white\n- red\n", "Drinks"),
        (b"## Drinks\n- green\n- red\n", None),
        (b"## Boats\n- green\n- white\n- black\n", None),
        (b"", None),
    ],
)
def test_a_section_is_recognised_by_most_of_its_items(newer: bytes, name: str | None) -> None:
    assert renamed("Tea", parse(BASE), parse(newer)) == name


def test_a_section_without_items_is_recognised_by_its_words_alone() -> None:
    base = parse(b"## Tea\n\nI like it.\n\n## Empty\n")

    assert renamed("Tea", base, parse(b"## Drinks\nI like it.\n")) == "Drinks"
    assert renamed("Tea", base, parse(b"## Drinks\nI hate it.\n")) is None
    assert renamed("Empty", base, parse(b"## Nothing\n")) is None
    assert renamed("Unknown", base, base) is None


def test_items_that_both_sides_changed_may_become_the_other_text() -> None:
    def conflict(kind: Any, kept: bytes, other: bytes) -> Conflict:
        return Conflict(kind, "Tea", kept, other, "both")

    found = proposals_for_conflicts(
        [
            conflict("item", b"- green\n", b"- sencha\n"),
            conflict("section", b"- a\n", b"- b\n"),
            conflict("item", b"", b"- b\n"),
            conflict("item", b"- a\n", b""),
        ],
        "USER.md",
        "why",
    )

    [proposal] = found
    assert (proposal.op["match"], proposal.op["line"], proposal.why) == ("green", "sencha", "why")
