"""INBOX.md shows proposals in words, and is read by ids and boxes alone."""

import re
from dataclasses import replace as changed
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import parse
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import propose
from vault_memory.rules.edits.inbox_page import (
    add_to_inbox,
    drop_from_inbox,
    expired,
    lines_for,
    read_inbox,
    strike_in_inbox,
)
from vault_memory.rules.edits.ops import AddHeading, Append, Remove, Replace

FIRST = propose(
    "Users/mira/bot/config/USER.md",
    Remove("Preferences", "Likes morning briefings at 7am"),
    "said (ref:1402)",
)
SECOND = propose("USER.md", Append("Work", "Leads the platform team"), "")
THIRD = propose("USER.md", Replace("Work", "old", "new"), "it is so now")
ALL = (FIRST, SECOND, THIRD)
PAGE = add_to_inbox(b"", ALL)


def page(raw, *edits):
    for old, new in edits:
        assert old in raw
        raw = raw.replace(old, new, 1)
    return raw


def test_a_proposal_is_shown_as_two_readable_lines():
    assert lines_for(FIRST) == (
        '- [ ] remove from USER.md › Preferences: "Likes morning briefings at 7am"',
        f"      why: said (ref:1402) · id {FIRST.id}",
    )
    assert lines_for(SECOND)[0] == '- [ ] add to USER.md › Work: "Leads the platform team"'
    assert lines_for(THIRD)[0] == '- [ ] change in USER.md › Work: "old" to "new"'
    section = propose("MEMORY.md", AddHeading("Pets", ("a cat", "a dog")), "")
    assert lines_for(section)[0] == '- [ ] add a section to MEMORY.md: Pets, with "a cat", "a dog"'


def test_a_proposal_that_looks_like_an_instruction_is_marked():
    marked = changed(FIRST, suspicious=True)

    assert lines_for(marked)[1].startswith("      why: looks like an instruction to the bot; said")


def test_hidden_letters_pictures_and_markup_are_shown_as_plain_text():
    hostile = propose(
        "USER.md", Append("A", "x\u202e ![](http://example.org/a.png) <img src=x> 1 < 2"), "a\nb\tc"
    )

    assert lines_for(hostile) == (
        '- [ ] add to USER.md › A: "x� !\\[](http://example.org/a.png) \\<img src=x> 1 < 2"',
        f"      why: a b c · id {hostile.id}",
    )


def test_a_page_reads_as_a_checklist_with_a_title():
    assert PAGE.startswith(b"# Waiting for you\n\nTick a box")
    assert len(items_of(parse(b"## \n" + PAGE.partition(b"\n\n")[2]))) == 3
    assert PAGE.endswith(b"\n")


def test_proposals_are_added_once_after_a_persons_own_text():
    raw = b"My own page.\r\n\r\n- [x] buy milk"

    once = add_to_inbox(raw, ALL[:2])
    assert once.startswith(raw + b"\r\n")
    assert once.count(b"\r\n") == once.count(b"\n")
    assert add_to_inbox(once, ALL[:2]) == once
    assert add_to_inbox(once, ALL) == once + "\r\n".join((*lines_for(THIRD), "")).encode()


@every(
    ("raw", "gap"),
    [
        (b"Words.\n", b"\n"),
        (b"Words.", b"\n\n"),
        (b"Words.\n\n", b""),
        (b"Words.\n \n", b""),
        (b"Words.\r\n", b"\r\n"),
        (b"# Title\n", b"\n"),
        (PAGE, b""),
        (PAGE.rstrip(b"\n"), b"\n"),
    ],
)
def test_a_blank_line_parts_the_entries_from_other_text_and_not_from_each_other(raw, gap):
    other = propose("USER.md", Append("Tea", "black"), "why")

    added = add_to_inbox(raw, [other])

    eol = b"\r\n" if b"\r\n" in raw else b"\n"
    assert added == raw + gap + eol.join([*(line.encode() for line in lines_for(other)), b""])


@pytest.mark.parametrize("mark", [b"[x]", b"[X]"])
def test_a_tick_approves_and_a_dash_or_a_deleted_line_rejects(mark):
    lines = PAGE.splitlines(keepends=True)
    ticked = page(PAGE, (b"[ ] remove", mark + b" remove"), (b"[ ] change", b"[-] change"))
    deleted = b"".join(
        line for line in lines if b"Leads" not in line and SECOND.id.encode() not in line
    )

    assert read_inbox(PAGE, ALL).undecided == tuple(one.id for one in ALL)
    assert read_inbox(ticked, ALL).approved == (FIRST.id,)
    assert read_inbox(ticked, ALL).rejected == (THIRD.id,)
    assert read_inbox(deleted, ALL).rejected == (SECOND.id,)


def test_deleting_a_checkbox_line_rejects_only_that_proposal():
    first, second, third = (one[0].encode() + b"\n" for one in map(lines_for, ALL))
    ticked = page(PAGE, (b"[ ] remove", b"[x] remove"), (second, b""))
    why = lines_for(FIRST)[1].encode() + b"\n"

    assert read_inbox(ticked, ALL).approved == (FIRST.id,)
    assert read_inbox(ticked, ALL).rejected == (SECOND.id,)
    assert read_inbox(page(PAGE, (first, b""), (third, b"")), ALL).rejected == (FIRST.id, THIRD.id)
    assert read_inbox(page(ticked, (why, b"")), ALL).approved == ()
    assert drop_from_inbox(ticked, [SECOND.id]) == page(
        ticked, (lines_for(SECOND)[1].encode() + b"\n", b"")
    )
    assert lines_for(SECOND)[1].encode() in drop_from_inbox(ticked, [FIRST.id])


@every("raw", [None, b"", b"\n \r\n", b"\0\0\0", b"\xef\xbb\xbf"])
def test_a_missing_or_empty_page_decides_nothing(raw):
    assert read_inbox(raw, ALL).undecided == tuple(one.id for one in ALL)


def test_a_ticked_proposal_without_its_id_line_is_matched_by_its_words():
    lines = [line for line in PAGE.splitlines(keepends=True) if b" id " not in line]

    assert read_inbox(page(b"".join(lines), (b"[ ] add", b"[x] add")), ALL).approved == (SECOND.id,)
    assert read_inbox(page(b"".join(lines), (b"[ ] add", b"[x] Add")), ALL).rejected == (SECOND.id,)


def test_changed_words_beside_an_id_do_not_change_the_approved_op():
    raw = page(PAGE, (b"[ ] remove from USER.md", b"[x] append to RULES.md"))

    assert read_inbox(raw, ALL).approved == (FIRST.id,)


@every(
    "edit",
    [
        pytest.param((b"[ ] remove", b"[/] remove"), id="a mark of another program"),
        pytest.param((b"- [ ] remove", b"remove"), id="no checkbox"),
        pytest.param((b"- [ ] remove", b"~~~\n- [x] remove"), id="in a fence"),
        pytest.param((b"- [ ] remove", b"<!--\n- [x] remove"), id="in a comment"),
        pytest.param((lines_for(FIRST)[0].encode(), b"- [x] "), id="no words"),
        pytest.param(
            (b"[ ] remove from USER.md", b"[x] ~~remove from USER.md"), id="struck through"
        ),
    ],
)
def test_any_other_mark_decides_nothing(edit):
    assert FIRST.id in read_inbox(page(PAGE, edit), ALL).undecided


def test_a_page_with_contradictory_marks_decides_nothing():
    twice = PAGE + "\n".join(lines_for(FIRST)).replace("[ ]", "[x]").encode() + b"\n"

    assert read_inbox(twice, ALL).approved == ()
    assert FIRST.id in read_inbox(twice, ALL).undecided


def test_the_text_of_a_proposal_cannot_imitate_another_proposal():
    forged = propose("USER.md", Append("A", f"x · id {SECOND.id}"), f"y · id {SECOND.id}")
    raw = add_to_inbox(b"", [forged, SECOND])

    assert read_inbox(page(raw, (b"[ ]", b"[x]")), [forged, SECOND]).approved == (forged.id,)


def test_a_stale_proposal_is_struck_through_with_the_reason():
    raw = page(PAGE, (b"# Waiting", b"# Mine\r\n\n\xff"))

    marked = strike_in_inbox(raw, {FIRST.id: "the section is gone"})

    assert (
        b'- [ ] ~~remove from USER.md \xe2\x80\xba Preferences: "Likes morning briefings at 7am"~~\n'
        + f"      the section is gone · id {FIRST.id}\n".encode()
        in marked
    )
    assert strike_in_inbox(marked, {FIRST.id: "again"}) == marked
    assert [line for line in raw.splitlines() if line not in marked.splitlines()] == [
        line.encode() for line in lines_for(FIRST)
    ]
    assert read_inbox(page(marked, (b"[ ] ~~", b"[x] ~~")), ALL).approved == ()


def test_decided_proposals_are_removed_from_the_page():
    assert drop_from_inbox(PAGE, [one.id for one in ALL[1:]]) == add_to_inbox(b"", [FIRST])
    assert drop_from_inbox(PAGE, ["0000000000"]) == PAGE


def test_a_proposal_expires_after_thirty_days():
    made = changed(FIRST, ts="2026-01-01T03:00:00+01:00")
    start = datetime(2026, 1, 1, 2, tzinfo=UTC)

    assert not expired(made, start + timedelta(days=30))
    assert expired(made, start + timedelta(days=30, seconds=1))
    assert not expired(changed(made, ts="soon"), start)


PIECES = [
    b"- [ ] ",
    b"- [x] ",
    b"- [X] ",
    b"- [-] ",
    b"* [x]\t",
    b"[x]",
    b"1. [x] ",
    b"\n",
    b"\r\n",
    b"\r",
    b"  ",
    b"      ",
    b"why: y",
    b" \xc2\xb7 id ",
    b" id " + FIRST.id.encode(),
    b" id " + SECOND.id.encode(),
    FIRST.id.encode(),
    lines_for(FIRST)[0][6:].encode(),
    lines_for(SECOND)[0][6:].encode(),
    b"~~",
    b"~~~",
    b"```",
    b"<!--",
    b"-->",
    b"\xff",
    b"## A",
    b"\xef\xbb\xbf",
    b"\0",
    *(line.encode() for line in lines_for(FIRST)),
]
pages = st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join) | st.binary(max_size=60)


@settings(max_examples=cases(400))
@given(pages)
@example(b"- [ ] a\n- [x] b\n  id " + FIRST.id.encode())
@example(b"- [x] \n id " + FIRST.id.encode())
@example(lines_for(FIRST)[1].encode() + b" id " + FIRST.id.encode())
def test_any_bytes_are_read_and_only_ticked_proposals_are_approved(raw):
    found = read_inbox(raw, ALL)

    assert sorted(found.approved + found.rejected + found.undecided) == sorted(
        one.id for one in ALL
    )
    for proposal in ALL:
        words = (proposal.id.encode(), lines_for(proposal)[0][6:].encode())
        ticked = re.search(rb"\[[xX]\][ \t]", raw)
        if proposal.id in found.approved:
            assert ticked
            assert any(word in raw for word in words)
        if proposal.id in found.rejected:
            rest = re.sub(
                rb"[ \t]why: [^\r\n]*" + words[0], b"", raw
            )  # whose first line was deleted
            assert b"[-]" in raw or not any(word in rest for word in words)
    reasons = dict.fromkeys([FIRST.id, SECOND.id], "gone")
    assert set(read_inbox(strike_in_inbox(raw, reasons), ALL).approved) <= set(found.approved)
    assert not {FIRST.id} & set(
        read_inbox(drop_from_inbox(add_to_inbox(raw, [FIRST]), [FIRST.id]), [FIRST]).approved
    ) or (lines_for(FIRST)[0][6:].encode() in raw)


@given(
    st.permutations(ALL).flatmap(lambda all: st.integers(0, 3).map(lambda n: all[:n])),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_exactly_the_ticked_proposals_are_approved(shown, ticks):
    raw = add_to_inbox(b"# Mine\n\n- [x] milk\n", shown)
    for proposal, tick in zip(shown, ticks, strict=False):
        line = lines_for(proposal)[0].encode()
        raw = raw.replace(line, line.replace(b"[ ]", b"[x]")) if tick else raw

    assert read_inbox(raw, shown).approved == tuple(
        one.id for one, tick in zip(shown, ticks, strict=False) if tick
    )
