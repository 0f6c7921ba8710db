"""A rule moves to the archive with one op, and comes back with one undo."""

import json

from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, record_run
from vault_memory.rules.edits.ops import Append, Archive
from vault_memory.rules.edits.ownership import Ownership, replay
from vault_memory.rules.edits.policy import Rules, decide
from vault_memory.rules.edits.undo import undo

RULES = "# Rules\n\n## Asked for\n\n- short replies (2026-05-01)\n  - also in mails\n- no emoji\n"
NOTES = (
    RULES,
    RULES + "\n## Archived\n\n- old rule\n",
    RULES + "\n## Archived\n",
    "# Rules\n\n## Archived\n\n* old rule\n\n## Asked for\n\n* short replies\n* no emoji\n",
    RULES.replace("\n", "\r\n"),
    RULES.rstrip("\n"),
)


def archive(raw: bytes, match: str = "short", source: str = "cli") -> tuple[bytes, Record]:
    outcome = apply_ops(parse(raw), [Archive("Asked for", match)])
    assert outcome.rejected == ()
    after = render(outcome.doc)
    head = Record("1", "2026-05-25T12:00:00+00:00", "ann", source, "RULES.md")
    record = record_run(head, before=raw, after=after, applied=outcome.applied)
    read = read_line(json.dumps(record.as_json()).encode())
    assert read == record
    return after, record


def headings_of(raw: bytes) -> dict[str, str]:
    return {item.text: item.heading for item in items_of(parse(raw))}


@every("text", NOTES)
def test_the_item_moves_and_all_others_stay(text: str) -> None:
    before = headings_of(text.encode())
    after, record = archive(text.encode())

    moved = {key for key in before if key.startswith(("short", "also"))}
    assert headings_of(after) == before | dict.fromkeys(moved, "Archived")
    assert [op.op["op"] for op in record.applied] == ["archive"]


@every("text", NOTES)
def test_the_undo_gives_the_note_back_byte_for_byte(text: str) -> None:
    after, record = archive(text.encode())
    assert undo(record, after).raw == text.encode()


@every("text", NOTES)
def test_the_undo_moves_the_item_back_in_a_note_that_changed(text: str) -> None:
    after, record = archive(text.encode())
    changed = apply_ops(parse(after), [Append("Asked for", "use metres")]).doc

    undone = undo(record, render(changed))

    before = headings_of(text.encode())
    assert headings_of(undone.raw) == before | {"use metres": "Asked for"}


def test_what_is_in_the_archive_already_stays_there() -> None:
    doc = parse(NOTES[1].encode())
    outcome = apply_ops(doc, [Archive("Archived", "old rule")])
    assert (outcome.doc, outcome.applied[0].outcome) == (doc, "noop_dup")
    outcome = apply_ops(doc, [Archive("Asked for", "long")])
    assert (outcome.doc, outcome.applied[0].outcome) == (doc, "noop_no_match")


def test_a_persons_rule_that_the_bot_archived_is_still_the_persons() -> None:
    _, record = archive(NOTES[0].encode(), "no emoji", source="nightly")
    assert replay([record]) == Ownership()


def test_the_bots_rule_that_it_archived_is_still_the_bots() -> None:
    raw = NOTES[0].encode()
    outcome = apply_ops(parse(raw), [Append("Asked for", "use metres")])
    head = Record("0", "2026-05-25T12:00:00+00:00", "ann", "nightly", "RULES.md")
    first = record_run(head, before=raw, after=render(outcome.doc), applied=outcome.applied)
    _, second = archive(render(outcome.doc), "metres", source="nightly")
    assert replay([first, second]).written == {("Archived", "use metres")}


def test_the_bot_archives_a_surplus_rule_and_asks_about_any_other() -> None:
    lines = [f"- rule {n} (2026-05-{n:02})\n" for n in range(1, 22)]
    doc = parse(("# Rules\n\n## Asked for\n\n" + "".join(lines)).encode())
    rules = Rules("nightly", "RULES.md", kind="rules")

    surplus = decide(doc, [Archive("Asked for", "rule 1 (")], rules)
    active = decide(doc, [Archive("Asked for", "rule 9 (")], rules)

    assert [op.op.heading for op in surplus.outcome.applied] == ["Asked for"]
    assert surplus.proposed == ()
    assert active.outcome.applied == ()
    assert [proposal.op["op"] for proposal in active.proposed] == ["archive"]
