"""Which lines of a note the bot wrote, from the diffs of its audit."""

from collections import Counter
from dataclasses import replace

from tests.every import every
from vault_memory.rules.edits import blame
from vault_memory.rules.edits.audit_record import Record, record_run

EMPTY = Record(id="", ts="", user_id="main", source="nightly", note="USER.md")


def records(*edits: tuple[str, str]) -> list[Record]:
    """Records of (source, text after it), each over the text of the one before."""
    before, made = b"", []
    for number, (source, text) in enumerate(edits):
        after = text.encode()
        record = replace(EMPTY, id=f"r{number}", source=source)
        made.append(record_run(record, before=before, after=after))
        before = after
    return made


def lines(*texts: str) -> str:
    return "".join(f"{text}\n" for text in texts)


@every(
    ("edits", "bots"),
    [
        ([("nightly", lines("a", "b"))], {b"a": 1, b"b": 1}),
        ([("tool", lines("a", " a", ""))], {b"a": 2}),
        ([("nightly", lines("a", "b")), ("tool", lines("b"))], {b"b": 1}),
        ([("nightly", lines("a", "b")), ("cli", lines("b"))], {b"a": 1, b"b": 1}),
        ([("nightly", lines("a")), ("cli", ""), ("cli", lines("a"))], {}),
        ([("nightly", lines("a", "b")), ("retention", lines("b"))], {b"b": 1}),
        ([("nightly", lines("a", "b")), ("forget", lines("b"))], {b"b": 1}),
        ([("nightly", lines("a", "b")), ("nightly", lines("b", "a"))], {b"a": 1, b"b": 1}),
        ([("cli", lines("a"))], {}),
    ],
)
def test_a_line_is_the_bots_until_it_is_removed_or_written_by_a_person(
    edits: list[tuple[str, str]], bots: dict[bytes, int]
) -> None:
    assert blame.bots_lines(records(*edits)) == bots


def test_lines_beyond_those_of_the_bot_are_peoples() -> None:
    raw = b"a\na\nb\n\n c \n"

    assert blame.of_people(raw, {b"a": 1, b"b": 1}) == {b"a", b"c"}
    assert blame.of_people(raw, {b"a": 2}) == {b"b", b"c"}


def test_a_change_takes_lines_away_and_adds_lines_in_their_order() -> None:
    before, after = b"a\nb\nb\nc", b"z\nb\n\n  c\ny\nz\n"

    assert blame.taken_away(before, after) == {b"a", b"b"}
    assert blame.added(before, after) == [b"z", b"y", b"z"]


@every(
    ("line", "deleted"),
    [
        (b"- sencha", True),
        (b"- x1y", True),
        (b"- xy", False),
        (b"---", False),
        (b"## Tea", False),
        (b"- gyokuro", False),
        (b"- unknown", False),
    ],
)
def test_a_line_of_the_bot_that_is_missing_was_deleted_if_it_says_something(
    line: bytes, deleted: bool
) -> None:
    bots = dict.fromkeys((b"- sencha", b"- x1y", b"- xy", b"---", b"## Tea", b"- gyokuro"), 1)

    assert blame.were_deleted([line], b" - gyokuro\n", bots) is deleted


def test_a_diff_gives_its_lines_without_those_that_only_moved() -> None:
    [record] = records(("nightly", lines("a", "b")))[:1]
    moved = record_run(EMPTY, before=b"a\nb\nc\n", after=b"b\na\n\nd\nd\n")

    assert blame.changed_lines(record.diff) == (Counter({b"a": 1, b"b": 1}), Counter())
    assert blame.changed_lines(moved.diff) == (Counter({b"d": 2}), Counter({b"c": 1}))
    assert blame.changed_lines(b"") == (Counter(), Counter())


def test_the_newest_record_that_added_an_item_is_found_by_its_text() -> None:
    made = records(
        ("nightly", lines("- sencha")),
        ("cli", ""),
        ("tool", lines("- Sencha")),
        ("tool", lines("- Sencha", "- more")),
    )

    found = blame.record_of_line(made, "sencha")

    assert found is not None
    assert found.id == "r2"
    assert blame.record_of_line(made, "green") is None
    assert list(blame.added_lines(made[3])) == ["more"]
    assert [record.id for record in blame.with_id(made, "r")] == ["r0", "r1", "r2", "r3"]
    assert blame.with_id(made, "r1") == [made[1]]
