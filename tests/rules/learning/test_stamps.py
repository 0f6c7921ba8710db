"""Stamps say which items fade: those of the bot that no person confirmed, and no others."""

from datetime import date

from tests.every import every
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.edits.audit_record import Record, RecordedOp
from vault_memory.rules.edits.skipped_duplicates import SkippedDuplicate, skipped_op
from vault_memory.rules.learning.stamps import ItemStamp, stamps_of
from vault_memory.rules.paths.layout import Place

ANN = "user:ann"
DAY = date(2026, 5, 25)


def place(kind: str = "dated", day: date | None = DAY) -> Place:
    return Place(kind, ANN, day, "note", indexed=True)


def written(*lines: str, ts: str = "2026-05-26T02:00:00+00:00") -> Record:
    ops = [
        RecordedOp({"op": "append", "heading": "Learned", "line": line}, "applied")
        for line in lines
    ]
    return Record(f"id {ts}", ts, "ann", "nightly", "note.md", tuple(ops))


def stamp_of(line: str, where: Place | None = None, *records: Record) -> ItemStamp:
    raw = f"# Day\n\n## Learned\n\n- {line}\n".encode()
    [stamp] = stamps_of(raw, where or place(), records or (written(line),))
    return stamp


def test_the_stamp_of_an_item_says_what_its_fading_follows_from():
    line = "[plan] Sails on Friday (2026-05-24, ref:mb3k2)"

    stamp = stamp_of(line)

    key = content_key(ANN, line)
    assert stamp == ItemStamp(5, 5, key, "plan", "2026-05-24", False, True, 1, True)


@every(
    ("kind", "fades"),
    [
        ("dated", True),
        ("note", True),
        ("facts", False),
        ("user", False),
        ("channel", False),
        ("memory", False),
        ("rules", False),
        ("reflection", False),
    ],
)
def test_only_notes_of_days_and_topics_fade(kind, fades):
    assert stamp_of("Likes tea (2026-05-24)", place(kind)).fades == fades


def test_an_item_that_the_person_confirmed_never_fades():
    stamp = stamp_of("Likes tea (2026-05-24, confirmed)")

    assert (stamp.confirmed, stamp.fades) == (True, False)


def test_an_item_that_a_person_wrote_or_changed_never_fades():
    mine = stamp_of("Likes tea (2026-05-24)", place(), written("Likes coffee"))

    assert (mine.by_bot, mine.fades) == (False, False)


def test_a_turn_that_repeats_an_item_supports_and_renews_it():
    line = "Likes tea (2026-05-24, ref:t1)"
    key = content_key(ANN, line)
    skip = SkippedDuplicate("Learned", "Likes tea", key, "t2")
    later = Record(
        "r2", "2026-06-02T02:00:00+00:00", "ann", "nightly", "note.md", (skipped_op(skip.as_op()),)
    )

    stamp = stamp_of(line, place(), written(line), later)

    assert (stamp.supports, stamp.learned) == (2, "2026-06-02")
    undo = Record("r3", "2026-06-03T02:00:00+00:00", "ann", "cli", "note.md", undoes="r2")
    undone = stamp_of(line, place(), written(line), later, undo)
    assert (undone.supports, undone.learned) == (1, "2026-05-24")


def test_an_item_without_a_day_is_as_old_as_its_note_or_its_record():
    assert stamp_of("Likes tea").learned == "2026-05-25"
    undated = stamp_of("Likes tea", place("note", None))
    assert (undated.learned, undated.fades) == ("2026-05-26", True)


def test_lines_are_those_of_the_note_with_nested_items_and_any_line_ends():
    raw = b"\r\n".join(
        [
            b"# Day",
            b"",
            b"## Learned",
            b"- One",
            b"  goes on",
            b"  - Nested",
            b"- Two",
            b"",
            b"## More",
            b"",
            b"* Three",
            b"",
        ]
    )

    stamps = stamps_of(raw, place(), ())

    lines = [(stamp.first_line, stamp.last_line) for stamp in stamps]
    assert lines == [(4, 5), (6, 6), (7, 7), (11, 11)]
