"""Edits of a text change what they name and nothing else, whatever the bytes around it are."""

import unicodedata

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.edits.blame import added, bots_lines, of_people, taken_away
from vault_memory.rules.edits.text_edits import Edited, Unfit, edit_text, text_of
from vault_memory.rules.edits.unified_diff import unified
from vault_memory.rules.memory_tool import note_name, relative, shown_name

TEXTS = st.text(st.sampled_from("ab -#\n\r\t\u2028é"), max_size=40)


@given(TEXTS, TEXTS, TEXTS)
@example("a\r\nb\r\n", "a\nb", "c\nd")
def test_a_replacement_replaces_the_old_text_with_the_new(before: str, old: str, new: str) -> None:
    assume("\r" not in old + new)
    made = edit_text({"op": "str_replace", "old_str": old, "new_str": new}, before.encode())

    if isinstance(made, Edited):
        ends = {new, new.replace("\n", "\r\n"), new.replace("\n", "\r")}
        olds = {old, old.replace("\n", "\r\n")}
        assert made.after in {before.replace(one, other).encode() for one in olds for other in ends}
    else:
        assert made.reason in ("no_match", "several")
        assert before.count(old) != 1 or not old


@given(TEXTS, st.integers(-2, 12), st.text(st.sampled_from("xy z\n"), max_size=8))
@example("\ufeffa\nb", 0, "x")
def test_an_insertion_adds_its_lines_and_keeps_all_others(
    before: str, line: int, text: str
) -> None:
    raw = before.encode()
    made = edit_text({"op": "insert", "insert_line": line, "insert_text": text}, raw)
    count = before.count("\n") + (not before.endswith("\n") and before != "")

    if isinstance(made, Unfit):
        assert (made.reason, made.lines) == ("line_range", (count,))
        assert not 0 <= line <= count
        return
    lines = before.split("\n")
    head = "\n".join(lines[:line]) + ("\n" if 0 < line < len(lines) else "")
    assert made.after is not None
    assert made.after.startswith(head.encode())
    assert made.after.endswith(raw[len(head.encode()) :].removeprefix("\ufeff".encode()))
    assert len(made.after) > len(raw)


@every(
    ("note", "old", "after"),
    [
        ("a Anna’s bike b", "Anna's bike", "a NEW b"),
        (unicodedata.normalize("NFD", "ä Zoë ü"), "Zoë", "ä NEW ü"),
        ("a head\u00adline b", "headline", "a NEW b"),
        ("a „rot“ – und b", '"rot" - und', "a NEW b"),
        ("a ten\u00a0km b", "ten km", "a NEW b"),
        ("a ｶﾞﾗｽ b", "ガラス", "a NEW b"),
    ],
)
def test_a_model_may_type_other_code_points(note: str, old: str, after: str) -> None:
    request = {"op": "str_replace", "old_str": old, "new_str": "NEW"}
    edited = edit_text(request, note.encode())
    assert isinstance(edited, Edited)
    assert edited.after is not None
    form = "NFD" if unicodedata.is_normalized("NFD", note) else "NFC"
    assert edited.after.decode() == unicodedata.normalize(form, after)


def test_a_text_as_it_is_written_comes_before_other_code_points() -> None:
    request = {"op": "str_replace", "old_str": "Anna's", "new_str": "x"}
    edited = edit_text(request, "Anna’s Anna's Anna’s".encode())
    assert isinstance(edited, Edited)
    assert edited.after == "Anna’s x Anna’s".encode()


@every("old", ["f", "\u200b", "ANNA'S", "e"])
def test_half_a_letter_nothing_and_another_case_are_no_match(old: str) -> None:
    request = {"op": "str_replace", "old_str": old, "new_str": "x"}
    assert edit_text(request, "oﬃc Anna’s".encode()) == Unfit("no_match")


def test_several_places_in_other_code_points_are_named() -> None:
    request = {"op": "str_replace", "old_str": "Anna's", "new_str": "x"}
    assert edit_text(request, "Anna’s\nAnnaʼs".encode()) == Unfit("several", (1, 2))


def test_an_insertion_follows_its_line_to_a_new_place() -> None:
    edit = {"op": "insert", "insert_line": 1, "insert_text": "new", "follows": "first"}

    moved = edit_text(edit, b"zero\nfirst\nlast\n")
    twice = edit_text(edit, b"zero\nfirst\nfirst\n")

    assert moved == Edited(b"zero\nfirst\nnew\nlast\n", 2)
    assert twice == Unfit("moved")


def test_a_model_sees_no_byte_order_mark_and_only_newline_line_endings() -> None:
    assert text_of(b"\xef\xbb\xbfa\r\nb\r") == "a\nb\r"


def record(before: bytes, after: bytes, source: str) -> Record:
    return Record("1", "", "", source, "n.md", diff=unified(before, after, "n.md"))


LINES = st.lists(st.sampled_from([b"one", b"two", b"three", b"  two", b""]), max_size=6).map(
    b"\n".join
)


@given(
    st.lists(st.tuples(st.sampled_from(["tool", "nightly", "cli", "undo"]), LINES), max_size=5),
    LINES,
)
def test_a_line_belongs_to_the_bot_only_if_a_record_of_the_bot_added_it(
    history: list[tuple[str, bytes]], now: bytes
):
    records, before, ever = [], b"", set[bytes]()
    for source, text in history:
        records.append(record(before, text, source))
        if source in ("tool", "nightly"):
            ever |= set(added(before, text))
        before = text

    people = of_people(now, bots_lines(records))

    assert {line.strip() for line in now.split(b"\n") if line.strip()} - people <= ever


def test_a_persons_last_line_stays_theirs_when_the_bot_writes_after_it() -> None:
    after = b"theirs\nours\n"

    assert of_people(after, bots_lines([record(b"theirs", after, "tool")])) == {b"theirs"}


def test_a_moved_line_does_not_count_as_removed() -> None:
    assert taken_away(b"one\ntwo\n", b"  two\none\nthree\n") == frozenset()
    assert added(b"one\ntwo\n", b"  two\none\nthree\n") == [b"three"]


def test_a_file_name_is_shown_as_the_model_wrote_it() -> None:
    for name in ("notes.txt", "a/b.xml", "plan.md", "2026-05-01.md", "Dr.Who.md", "a.b/c.md"):
        assert shown_name(note_name(name)) == name
        assert relative(f"/memories/{name}") == name
    assert note_name("plan") == "plan.md" == shown_name("plan.md")
    assert shown_name(".txt.md") == ".txt.md"
