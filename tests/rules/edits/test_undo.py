"""A record of the audit can be taken back: byte for byte, or item by item where the note changed since."""

import dataclasses
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.audit_record import Record, propose, record_run
from vault_memory.rules.edits.ops import Append
from vault_memory.rules.edits.undo import NotUndoable, undo
from vault_memory.rules.edits.unified_diff import taken_back, unified
from vault_memory.rules.forgetting.redaction import redact


def run(raw, *ops, source="nightly", id="1"):
    """The note after the ops, and the record of it as it comes back from the file."""
    outcome = apply_ops(parse(raw), ops)
    after = render(outcome.doc)
    record = record_run(
        Record(
            id=id, ts="2026-11-21T03:00:00+01:00", user_id="mira", source=source, note="USER.md"
        ),
        before=raw,
        after=after,
        applied=outcome.applied,
        rejected=outcome.rejected,
    )
    return after, through_the_file(record)


def through_the_file(record):
    return read_line(json.dumps(record.as_json()).encode())


def record_of(undone, before, undoes):
    return through_the_file(
        record_run(
            Record(
                id=undoes.id + "u",
                ts="2026-11-22T03:00:00+01:00",
                user_id="mira",
                source="undo",
                note="USER.md",
                undoes=undoes.id,
            ),
            before=before,
            after=undone.raw,
            applied=undone.applied,
            proposed=undone.proposed,
        )
    )


def append(line, heading="Work"):
    return {"op": "append", "heading": heading, "line": line}


def remove(match, heading="Work"):
    return {"op": "remove", "heading": heading, "match": match}


def replace(match, line, heading="Work"):
    return {"op": "replace", "heading": heading, "match": match, "line": line}


def add_heading(heading, *lines):
    return {"op": "add_heading", "heading": heading, "lines": list(lines)}


NOTE = b"# Mira\r\n\n## Work\n- one\n* two\n  goes on\n  - nested\n\n- three\n### Deep\n- four\n\n## Home\n- five"


def test_undo_restores_an_unchanged_note_byte_for_byte():
    after, record = run(
        NOTE, append("six"), remove("two"), replace("three", "3"), add_heading("New", "a", "b")
    )

    undone = undo(record, after)

    assert undone.exact
    assert undone.raw == NOTE
    assert undone.proposed == ()


def test_a_diff_that_does_not_lead_to_the_text_before_is_not_trusted():
    after, record = run(NOTE, append("six"))
    diff = record.diff.replace(b"-\n", b"").replace(b"+- six", b"+- seven")

    for changed in (
        dataclasses.replace(record, before="0" * 64),
        dataclasses.replace(record, diff=diff),
    ):
        undone = undo(changed, after)
        assert not undone.exact
        assert undone.raw == NOTE


def test_undoing_an_undo_restores_the_edit():
    after, record = run(NOTE, append("six"), remove("two"), add_heading("New", "a"))
    undone = undo(record, after)

    assert undo(record_of(undone, after, record), undone.raw).raw == after


def test_an_edit_of_undecodable_bytes_can_be_undone_too():
    raw, after = b"## Work\n- \xff\n- one\n", b"## Work\n- one\n"
    record = through_the_file(
        record_run(
            Record(id="1", ts="", user_id="", source="retention", note="n.md"),
            before=raw,
            after=after,
        )
    )

    assert undo(record, after).raw == raw


@every(
    ("ops", "person", "left"),
    [
        pytest.param(
            [append("six")],
            (b"- one", b"- eins"),
            NOTE.replace(b"- one", b"- eins"),
            id="an added item is removed",
        ),
        pytest.param(
            [remove("two")],
            (b"- one", b"- new\n- one"),
            NOTE.replace(b"- one", b"- new\n- one"),
            id="a removed item returns between others",
        ),
        pytest.param(
            [remove("two"), remove("three")],
            (b"## Home", b"## House"),
            NOTE.replace(b"## Home", b"## House").replace(b"\n\n- three\n", b"\n- three\n\n"),
            id="two adjacent items return in order",
        ),
        pytest.param(
            [replace("two", "2")],
            (b"  - nested", b"  - nested\n  - new"),
            NOTE.replace(b"  - nested", b"  - nested\n  - new"),
            id="the old wording returns above a person's child",
        ),
        pytest.param(
            [add_heading("New", "a")],
            (b"- one\n", b""),
            NOTE.replace(b"- one\n", b"") + b"\n",
            id="an added section is removed",
        ),
        pytest.param(
            [append("six")],
            (b"## Work", b"## Job"),
            NOTE.replace(b"## Work", b"## Job"),
            id="an item in a renamed section is removed",
        ),
    ],
)
def test_in_a_changed_note_each_op_is_undone_separately(ops, person, left):
    after, record = run(NOTE, *ops)
    assert person[0] in after

    undone = undo(record, after.replace(*person))

    assert not undone.exact
    assert undone.raw == left


def test_an_item_without_its_old_neighbours_returns_at_the_end_of_its_section():
    _, record = run(b"## Work\n- one\n- two\n- three\n", remove("two"))

    assert (
        undo(record, b"## Work\nA text.\n\n## Home\n").raw
        == b"## Work\nA text.\n\n- two\n\n## Home\n"
    )


def test_a_restored_item_never_separates_an_item_from_its_children():
    _, record = run(b"## Work\n- one\n- two\n", remove("two"))

    assert (
        undo(record, b"## Work\n- one\n  - nested\n- x\n").raw
        == b"## Work\n- one\n  - nested\n- two\n- x\n"
    )


def test_a_persons_changes_are_kept_and_conflicting_undos_are_proposed():
    after, record = run(NOTE, append("six"), replace("one", "eins"), remove("five", "Home"))
    now = after.replace(b"six", b"seven").replace(b"eins", b"1").replace(b"## Home\n", b"")

    undone = undo(record, now)

    assert undone.raw == now
    assert {done.outcome for done in undone.applied} == {"noop_no_match"}
    wished = [dict(proposal.op) for proposal in undone.proposed]
    assert wished == [add_heading("Home", "five"), append("one")]


def test_removing_an_added_item_with_a_persons_child_is_only_proposed():
    after, record = run(NOTE, append("six"))
    now = after.replace(b"- six\n", b"- six\n  - and more\n")

    undone = undo(record, now)

    assert undone.raw == now
    assert [dict(proposal.op) for proposal in undone.proposed] == [remove("six")]


def test_an_op_a_person_already_reverted_needs_no_undo():
    _, record = run(NOTE, remove("one"))

    undone = undo(record, NOTE + b"\n")

    assert undone.raw == NOTE + b"\n"
    assert undone.proposed == ()


def test_undoing_a_section_keeps_what_a_person_added_to_it():
    after, record = run(b"## Work\n", add_heading("New", "a", "b"))

    assert undo(record, after + b"- mine\n").raw == b"## Work\n\n## New\n\n- mine\n"


def test_an_undo_in_a_changed_note_can_itself_be_undone_after_more_changes():
    after, record = run(
        NOTE, append("six"), remove("two"), replace("three", "3"), add_heading("New", "a")
    )
    changed = after.replace(b"- five", b"- fifth")
    undone = undo(record, changed)

    again = undo(record_of(undone, changed, record), undone.raw.replace(b"- fifth", b"- cinq"))

    assert sorted(item.text for item in items_of(parse(again.raw))) == sorted(
        item.text for item in items_of(parse(changed.replace(b"- fifth", b"- cinq")))
    )


def test_the_undo_of_a_tick_in_a_changed_note_keeps_the_newer_task():
    tick = {"op": "replace", "heading": "A", "match": "tea", "line": "[x] tea"}
    _, record = run(b"## A\n* [ ] tea\n", tick)

    undone = undo(record, b"## A\n* [x] tea\n* [ ] tea\n- more\n")

    assert undone.raw == b"## A\n* [ ] tea\n* [ ] tea\n- more\n"


def test_the_undo_of_a_replacement_keeps_what_a_person_added_to_the_item():
    op = {"op": "replace", "heading": "A", "match": "tea", "line": "24. tea"}
    _, record = run(b"## A\n- tea\n", op)

    undone = undo(record, b"## A\n- 24\\. tea ^id\n  key:: value\n\n  More.\n")

    assert undone.raw == b"## A\n- tea ^id\n  key:: value\n\n  More.\n"


def test_a_redacted_record_cannot_be_undone():
    after, record = run(NOTE, append("my secret"), append("six"))
    redacted = through_the_file(redact(record, lambda text: "secret" in text))

    assert "secret" not in json.dumps(redacted.as_json())
    assert (redacted.id, redacted.ts, redacted.redacted) == (record.id, record.ts, True)
    assert redacted.applied[1] == record.applied[1]
    with pytest.raises(NotUndoable):
        undo(redacted, after)


def test_a_record_without_changes_cannot_be_undone():
    after, record = run(NOTE, append("one"), append("x", "Nowhere"))

    with pytest.raises(NotUndoable):
        undo(record, after)


def test_a_diff_edited_by_hand_is_not_trusted():
    after, record = run(NOTE, append("six"))
    line = json.dumps(record.as_json()).replace("* two", "* 2")

    assert undo(read_line(line.encode()), after).raw == NOTE.replace(b"* 2", b"* two")


LINES = [
    b"## Work\n",
    b"## Home\r\n",
    b"### Deep\n",
    b"- one\n",
    b"* two\n",
    b"  - child\n",
    b"  goes on\n",
    b"1. first\n",
    b"prose\n",
    b"\n",
    b"```\n",
    b"- tea (2026-01-02, ref:1)\n",
    b"> quote\n",
    b"    code\n",
    b"- [ ] task\n",
    b"-\n",
    b"\t- tab\n",
    b"@@ -1 +1 @@\n",
    b"\\ none\n",
    b"last",
    b"- last",
]
notes = st.lists(st.sampled_from(LINES), max_size=14).map(b"".join)
words = st.sampled_from(
    ["one", "two", "child", "tea", "first", "task", "last", "six", "seven (2026-01-02)"]
)
headings = st.sampled_from(["Work", "Home"])
ops = st.lists(
    st.one_of(
        st.builds(append, words, headings),
        st.builds(remove, words, headings),
        st.builds(replace, words, words, headings),
        st.builds(add_heading, st.sampled_from(["New", "Home"]), words, words),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=cases(400))
@given(notes, notes)
@example(b"a", b"a\n")
@example(b"\\ x\n", b"")
def test_reversing_a_diff_gives_the_older_text(before, after):
    assert taken_back(after, unified(before, after, "n.md")) == before


@given(st.binary(max_size=60) | notes.map(lambda raw: b"@@ -1,3 +1,2 @@\n" + raw), notes)
def test_any_bytes_as_a_diff_are_read_without_an_error(diff, now):
    taken_back(now, diff)


@settings(max_examples=cases(200))
@given(notes, ops)
def test_undo_restores_the_bytes_and_undoing_twice_restores_the_edit(raw, said):
    after, record = run(raw, *said)
    if after == raw:
        return
    undone = undo(record, after)
    assert undone.raw == raw

    assert undo(record_of(undone, after, record), raw).raw == after


def texts(raw):
    return sorted(item.text for item in items_of(parse(raw)))


@settings(max_examples=cases(200))
@given(notes.filter(lambda raw: raw.endswith(b"\n") and b"```" not in raw), ops)
def test_undo_in_a_note_with_a_persons_new_section_reverts_only_the_ops(raw, said):
    after, record = run(raw, *said)
    if after == raw:
        return
    mine = b"\n## Mine\n\n- mine\n"
    undone = undo(record, after + mine)

    assert mine in undone.raw
    if all(done.outcome == "applied" for done in undone.applied):
        assert texts(undone.raw) == texts(raw + mine)
    else:
        assert "mine" in texts(undone.raw)


@settings(max_examples=cases(200))
@given(notes, ops, notes)
def test_undo_in_any_other_note_never_fails_and_keeps_unrelated_text(raw, said, now):
    after, record = run(raw, *said)
    if after == raw:
        return
    undone = undo(record, now)

    named = set(texts(raw)) | {
        line for done in record.applied for line in json.dumps(dict(done.op)).split('"')
    }
    assert [text for text in texts(undone.raw) if text not in named] == [
        text for text in texts(now) if text not in named
    ]


def test_a_proposal_has_the_same_id_every_night():
    assert (
        propose("USER.md", Append("Work", "x"), "a").id
        == propose("USER.md", Append("Work", "x"), "b").id
    )
