"""What a conflict copy and its note make together, told by the versions that are kept: pure, over any texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault_memory.edits.plans.copy_ancestors import lines_of, possible_bases
from vault_memory.edits.plans.merge_copy import fold, fold_log

ROOT = b"## Tea\n\n- green\n- black\n\n## Boats\n\n- Sula\n"
BEFORE = b"## Tea\n\n- green\n- black\n\n## Boats\n"
"""What the note was before ROOT: a copy with the line between them was made after it"""
DAY = "2026-11-21"


def with_line(raw: bytes, line: str) -> bytes:
    return raw.replace(b"- black\n", b"- black\n- " + line.encode() + b"\n")


def numbered(*versions: bytes) -> list[tuple[str, bytes]]:
    """As a chain has them: the newest first."""
    return [(str(number), raw) for number, raw in reversed(list(enumerate(versions)))]


OURS = with_line(ROOT, "mint, which the bot wrote")
THEIRS = with_line(ROOT, "rooibos from the phone")


def test_additions_on_either_side_are_in_the_merged_text():
    folded = fold(OURS, THEIRS, numbered(ROOT, OURS), day=DAY)

    assert folded.state == "mergeable"
    assert folded.result is not None
    assert b"mint" in folded.result
    assert b"rooibos" in folded.result


def test_a_copy_whose_text_is_also_in_the_version_chain_is_merged():
    """A sync client puts the local text aside and the server's in its place: the copy is in the chain, too."""
    folded = fold(OURS, THEIRS, numbered(ROOT, THEIRS, OURS), day=DAY)

    assert folded.state == "mergeable"
    assert folded.result is not None
    assert b"rooibos" in folded.result


@pytest.mark.parametrize("seen", [(ROOT, OURS), (ROOT, THEIRS, OURS)], ids=["elsewhere", "here"])
def test_a_merged_copy_counts_as_contained_and_removes_nothing_again(seen: tuple[bytes, ...]):
    merged = fold(OURS, THEIRS, numbered(*seen), day=DAY).result
    assert merged is not None

    again = fold(merged, THEIRS, numbered(*seen, merged), day=DAY)

    assert (again.state, again.result) == ("contained", None)


def test_the_merge_base_is_the_text_before_both_saves_of_the_other_device():
    first = with_line(ROOT, "first save")
    second = with_line(first, "second save")

    folded = fold(OURS, second, numbered(ROOT, first, second, OURS), day=DAY)

    assert folded.base == "0"
    assert folded.result is not None
    assert b"first save" in folded.result


def test_a_line_deleted_on_the_other_device_is_removed_from_the_note():
    copy = ROOT.replace(b"- green\n", b"")

    folded = fold(OURS, copy, numbered(BEFORE, ROOT, OURS), day=DAY)

    assert folded.state == "mergeable"
    assert folded.result == OURS.replace(b"- green\n", b"")


def test_a_line_changed_on_both_sides_is_a_conflict_that_can_keep_both():
    note, copy = (ROOT.replace(b"black", b"black, strong"), ROOT.replace(b"black", b"black, weak"))

    folded = fold(note, copy, numbered(ROOT, note), day=DAY)

    assert folded.state == "conflict"
    assert [(one.section, one.kept, one.other) for one in folded.conflicts] == [
        ("Tea", b"- black, strong", b"- black, weak")
    ]
    assert folded.result is not None
    assert f"- black, weak ⚠ (other device, {DAY})\n".encode() in folded.result


def test_without_a_common_version_nothing_is_deleted_and_similar_lines_conflict():
    apart = fold(OURS, THEIRS, numbered(OURS), day=DAY)
    alike = fold(
        ROOT.replace(b"Sula", b"Sula is red"), ROOT.replace(b"Sula", b"Sula is blue"), [], day=DAY
    )

    assert (apart.state, apart.base) == ("mergeable", "")
    assert alike.state == "conflict"


def test_a_line_corrected_since_the_copy_was_made_is_left_to_a_person():
    copy = with_line(ROOT, "call Anne on Monday")
    note = with_line(ROOT, "call Annie on Monday")

    assert fold(note, copy, numbered(ROOT, copy, note), day=DAY).state == "conflict"


def test_a_merge_that_would_remove_many_lines_is_left_to_a_person():
    long = ROOT + b"".join(b"- boat %d\n" % number for number in range(12))
    copy = ROOT

    folded = fold(
        with_line(long, "new"),
        copy + b"- Gannet\n",
        numbered(long, with_line(long, "new")),
        day=DAY,
    )

    assert folded.state == "conflict"
    assert "12 lines" in folded.why or "11 lines" in folded.why


@pytest.mark.scenario("D72")
def test_identical_bytes_are_identical_even_if_not_text():
    assert fold(b"\xff\0", b"\xff\0", [], day=DAY).state == "identical"


lines = st.lists(
    st.sampled_from(["- ant", "- bee", "- cat", "- dog", "- elk", "- fox"]), max_size=6, unique=True
)
texts = lines.map(lambda said: "\n".join(["## Tea", "", *said, ""]).encode())


@given(texts, texts, st.lists(texts, max_size=4))
def test_a_line_is_removed_only_if_every_possible_base_had_it(
    note: bytes, copy: bytes, older: list[bytes]
):
    chain = numbered(*older, note)
    folded = fold(note, copy, chain, day=DAY)
    bases = possible_bases(note, copy, chain)
    texts = [raw for _, raw in bases.versions] + [bases.older or b""] * (bases.older is not None)
    had = set.intersection(*(set(lines_of(raw)) for raw in texts)) if texts else set()

    if folded.state in ("mergeable", "contained", "identical"):
        result = note if folded.result is None else folded.result
        assert not set(lines_of(note)) - had - set(lines_of(result))
        assert not set(lines_of(copy)) - had - set(lines_of(result))


@given(st.binary(max_size=60), st.binary(max_size=60), st.lists(st.binary(max_size=60), max_size=3))
def test_any_bytes_are_accepted_as_a_note_and_a_copy(note: bytes, copy: bytes, older: list[bytes]):
    folded = fold(note, copy, numbered(*older, note), day=DAY)

    assert (folded.state == "identical") == (note == copy)
    assert folded.state != "mergeable" or folded.result is not None


def records(*ids: str) -> bytes:
    return b"".join(
        b'{"id": "%s", "ts": "2026-11-21T10:00:0%s"}\n' % (one.encode(), one.encode())
        for one in ids
    )


def test_a_log_receives_only_the_records_it_lacks():
    folded = fold_log(records("1", "2"), records("1", "3", "4"))

    assert folded.state == "mergeable"
    assert folded.result == records("3", "4").rstrip()
    assert fold_log(records("1", "2", "3", "4"), records("1", "3", "4")).state == "contained"


def test_a_record_redacted_on_one_device_stays_redacted():
    plain, redacted = b'{"id": "1", "diff": "x"}\n', b'{"id": "1", "redacted": true}\n'

    assert fold_log(redacted, plain).state == "contained"
    assert fold_log(plain, redacted).result == redacted.rstrip()


def test_contradictory_or_torn_records_are_left_to_a_person():
    assert fold_log(b'{"id": "1", "a": 1}\n', b'{"id": "1", "a": 2}\n').state == "conflict"
    assert fold_log(records("1"), records("1") + b'{"id": "to').state == "conflict"
    assert fold_log(records("1", "2"), records("1") + records("2")[:9]).state == "contained"


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_are_accepted_as_a_log(log: bytes, copy: bytes):
    assert fold_log(log, copy).state in ("identical", "contained", "mergeable", "conflict")


def test_without_a_stored_version_a_copy_is_merged_unasked_only_if_the_note_has_no_line_more():
    note = b"## Tea\n- green\n"

    assert fold(note, note + b"- black\n", (), day=DAY).certain
    assert not fold(note + b"- red wine\n", note + b"- black\n", (), day=DAY).certain
    assert fold(OURS, THEIRS, numbered(ROOT, OURS), day=DAY).certain, "the base is stored"
