"""What goes with a forgotten text, and that nothing else does."""

import json
import unicodedata
from dataclasses import fields
from typing import get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from tests.scenarios.spellings import reads, spellings
from vault_memory.rules.edits.audit_reader import read_line
from vault_memory.rules.edits.ops import AddHeading, Op, as_json
from vault_memory.rules.forgetting.matcher import TextMatcher, TextTooShort
from vault_memory.rules.forgetting.redaction import cut_audit, cut_note, cut_transcript

LANTERN = TextMatcher.of("Green Lantern")


def cut(text: str, sought: TextMatcher = LANTERN, *, facts: bool = False) -> str:
    return cut_note(text.encode(), sought, facts=facts).raw.decode()


@every(
    ("before", "after"),
    [
        ("- a\n- the green lantern\n- b\n", "- a\n- b\n"),
        ("- a\r\n- the GREEN   LANTERN\r\n- b\r\n", "- a\r\n- b\r\n"),
        ("- a\n- the green\n  lantern\n- b", "- a\n- b"),
        ("- a\n- the green\n\n  lantern\n- b", "- a\n- b"),
        ("- green lantern\n  - nested\n- b\n", "- b\n"),
        ("- a\n  - green lantern\n  - c\n", "- a\n  - c\n"),
        ("1. [x] green lantern (2026-01-01)\n2. b\n", "2. b\n"),
        ("## A\n\n### deep\n\n- green lantern\n- b\n", "## A\n\n### deep\n\n- b\n"),
        ("one\ngreen lantern\nthree\n", "one\nthree\n"),
        ("one green\nlantern two\nthree\n", "three\n"),
        ("one green\n\nlantern two\n", "one green\n\nlantern two\n"),
        ("> a green\n> lantern\n> c\n", "> c\n"),
        ("---\ntopic: green lantern\nx: y\n---\n# A\n", "---\nx: y\n---\n# A\n"),
        ("```green lantern\ncode\n```\n", "```\ncode\n```\n"),
        ("```\nx = 'green lantern'\ny\n```\n", "```\ny\n```\n"),
        ("## The green lantern\n\n- a\n", "## …\n\n- a\n"),
        ("The green lantern\n---\n\n- a\n", "…\n---\n\n- a\n"),
        ("| a |\n|---|\n| green lantern |\n| b |\n", "| a |\n|---|\n| b |\n"),
        ("\ufeffgreen lantern\nb\n", "\ufeffb\n"),
        ("a\rgreen\rlantern\rb\r", "a\rb\r"),
        ("greenlantern\n", "greenlantern\n"),
    ],
)
def test_the_item_or_lines_containing_the_text_are_removed(before: str, after: str):
    assert cut(before) == after


def test_lines_that_form_the_text_after_a_removal_are_removed_too():
    assert cut("green\ngreen lantern\nlantern\nlast\n") == "last\n"


def test_facts_about_a_forgotten_subject_are_removed_and_others_kept():
    page = (
        "## alice\n\n- likes: tea\n\n## green lantern\n\n- is_a: lamp\n\n## bob\n\n- owns: a boat\n"
    )

    assert cut(page, facts=True) == "## alice\n\n- likes: tea\n\n## bob\n\n- owns: a boat\n"


@every(
    ("wanted", "there"),
    [
        ("Café Müller", unicodedata.normalize("NFD", "café MÜLLER")),
        (unicodedata.normalize("NFD", "Café"), "CAFÉ"),
        ("straße", "STRASSE"),
        ("한국어 메모", unicodedata.normalize("NFD", "한국어 메모")),
        ("灯台の鍵", "あの灯台の鍵です"),
        ("a\u00a0b c", "A b\tC"),
    ],
)
def test_case_spaces_and_unicode_forms_are_ignored(wanted: str, there: str):
    sought = TextMatcher.of(wanted)
    [(start, end)] = sought.spans(f"x {there} y")

    assert sought.hides(there)
    assert sought.stands_in(there)
    assert sought.is_in_bytes(json.dumps([there]).encode())
    assert TextMatcher.of(wanted).hides(f"x {there} y"[start:end])


@every("text", ["", "  ", "ab", "...", "- [ ]", "é!", "a b"[:2], "键"])
def test_a_text_that_is_too_short_is_refused_and_not_repeated(text: str):
    with pytest.raises(TextTooShort) as refused:
        TextMatcher.of(text)

    assert not text.strip() or text not in refused.value.message + refused.value.hint


def test_two_letters_are_enough_in_a_script_without_spaces():
    assert TextMatcher.of("灯台").hides("灯台の鍵")


LINES = st.sampled_from(
    [
        "- tea",
        "  - nested",
        "* star",
        "green",
        "lantern",
        "- Green Lantern",
        "  green lantern",
        "a green\tlantern b",
        "## A",
        "### green lantern",
        "green lantern\n---",
        "",
        "",
        "  ",
        "```",
        "```green lantern",
        "> green",
        "> lantern",
        "---",
        "| green lantern |",
        "<div>",
        "1. one",
        "2) gre\u0301en",
        "last\x0cpage",
        "<!-- green",
    ]
)


@given(
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"]))),
    st.sampled_from([b"", b"\xff", b"\xc3(end", b"\0"]),
    st.booleans(),
)
@example([("green", "\n"), ("- lantern", "\n")], b"", False)
@example([("- a", "\n"), ("lantern", "\n")], b"\xff\xfe", True)
def test_the_remaining_lines_are_unchanged_and_none_contains_the_text(
    parts: list[tuple[str, str]], tail: bytes, facts: bool
):
    raw = "".join(text + end for text, end in parts).encode() + tail
    done = cut_note(raw, LANTERN, facts=facts)

    assert not LANTERN.stands_in(done.raw.decode("utf-8", "replace"))
    assert (done.count == 0) == (done.raw == raw)
    rest = iter(raw.splitlines(keepends=True))
    for line in done.raw.splitlines(keepends=True):
        bare = line.strip()
        assert bare.startswith((b"```", "…".encode(), "### …".encode())) or line in rest, (
            line,
            done.raw,
        )
    assert cut_note(done.raw, LANTERN, facts=facts).raw == done.raw


def test_a_turn_containing_the_text_is_kept_without_its_words():
    said = {
        "id": "7",
        "ts": "2026-01-01T10:00:00+00:00",
        "role": "user",
        "text": "my green\nlantern",
        "source": "talk",
    }
    other = '{"id":"8","text":"hello",  "role":"bot"}'
    raw = f"{json.dumps(said)}\n{other}\ntorn green lantern\n".encode()

    done = cut_transcript(raw, LANTERN)

    first, second, end = done.raw.decode().split("\n")
    assert json.loads(first) == {**said, "text": ""}
    assert (second, end, done.count) == (other, "", 2)


def test_an_audit_record_keeps_that_an_edit_happened_but_not_its_text():
    old, new = "a" * 64, "b" * 64
    line = {
        "id": "01",
        "ts": "2026-01-01T10:00:00+00:00",
        "user_id": "main",
        "source": "tool",
        "note": "USER.md",
        "applied": [
            {
                "op": {"op": "append", "heading": "Tea", "line": "green lantern"},
                "outcome": "applied",
            },
            {"op": {"op": "append", "heading": "Tea", "line": "oolong"}, "outcome": "applied"},
        ],
        "rejected": [],
        "before": old,
        "after": new,
        "diff": "@@ @@\n+- green lantern\n+- oolong\n",
        "why": "",
    }
    untouched = (
        '{"id":"02","ts":"2026-01-02T10:00:00+00:00","note":"USER.md","after":"'
        + old
        + '","applied":[]}'
    )

    done = cut_audit(f"{json.dumps(line)}\n{untouched}\n".encode(), LANTERN, {old: "c" * 64})

    first, second, _ = done.raw.split(b"\n")
    record = read_line(first)
    assert record is not None
    assert record.redacted
    assert [dict(one.op) for one in record.applied] == [
        {"op": "append"},
        {"op": "append", "heading": "Tea", "line": "oolong"},
    ]
    assert (record.before, record.after, record.diff) == ("c" * 64, new, b"")
    assert second == untouched.replace(old, "c" * 64).encode()


@every("kind", get_args(Op))
def test_an_audit_record_keeps_the_kind_of_a_redacted_op(kind: type[Op]):
    words = {field.name: "green lantern" for field in fields(kind) if field.type is str}
    others = {"lines": ("green lantern",)} if kind is AddHeading else {}
    op = as_json(kind(**words, **others))
    line = {
        "id": "01",
        "ts": "2026-01-01T10:00:00+00:00",
        "source": "tool",
        "note": "USER.md",
        "applied": [{"op": op, "outcome": "applied"}],
    }

    done = cut_audit(json.dumps(line).encode(), LANTERN, {})

    record = read_line(done.raw)
    assert record is not None
    assert [dict(one.op) for one in record.applied] == [{"op": op["op"]}]


def test_a_text_that_continues_on_the_next_line_of_a_diff_is_found():
    line = {
        "id": "01",
        "ts": "2026-01-01T10:00:00+00:00",
        "source": "cli",
        "note": "USER.md",
        "before": "",
        "after": "",
        "applied": [
            {"op": {"op": "append", "heading": "Tea", "line": "oolong"}, "outcome": "applied"}
        ],
        "diff": "@@ @@\n - green\n   lantern\n+- oolong\n",
    }

    done = cut_audit(json.dumps(line).encode(), LANTERN, {})

    record = read_line(done.raw)
    assert record is not None
    assert (record.diff, record.redacted, len(record.applied)) == (b"", False, 1)


SPELLED = "Zephyrine Ölkanne"


@settings(max_examples=cases(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spellings(SPELLED))
@example("Zephyr**ine** Öl&shy;kanne")
@example("[Zephyrine](https://example.org) &Ouml;lkanne")
@example("Zephy-\n  rine Ölkanne")
def test_every_spelling_of_the_text_is_removed(spelled: str):
    sought = TextMatcher.of(SPELLED)
    note = f"# A\n\n- first\n- the {spelled} of old\n- last\n\n## B\n\nOne.\n\nThe {spelled}, once.\n\nTwo.\n"
    turn = json.dumps({"id": "7", "role": "user", "text": f"where is the {spelled}?"}) + "\n"

    left = cut_note(note.encode(), sought).raw.decode()
    said = cut_transcript(turn.encode(), sought).raw.decode()

    assert SPELLED.casefold() not in reads(left)
    assert [line for line in left.splitlines() if line] == [
        "# A",
        "- first",
        "- last",
        "## B",
        "One.",
        "Two.",
    ]
    assert json.loads(said)["text"] == ""


@settings(max_examples=cases(100), deadline=None)
@given(st.text(max_size=80), spellings(SPELLED), st.text(max_size=80))
def test_a_match_is_located_at_its_exact_position(before: str, spelled: str, after: str):
    sought = TextMatcher.of(SPELLED)
    text = f"{before} {spelled} {after}"

    spans = sought.spans(text)

    assert bool(spans) == sought.stands_in(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(sought.hides(text[start:end]) for start, end in spans if "\n" not in text[start:end])


@every(
    "text",
    [
        "Zephyrine-Ölkanne",
        "ZephyrineÖlkanne",
        "Zephyrine Olkanne",
        "Zеphyrinе Ölkanne",
        "Zéphyrine Ölkanne",
        "Zephyrine, Ölkanne",
        "Zephyrine\n\nÖlkanne",
    ],
)
def test_similar_texts_are_reported_and_kept(text: str):
    sought = TextMatcher.of(SPELLED)

    assert sought.reads_alike(f"x {text} y") == 1
    assert not sought.stands_in(text)
    assert cut_note(f"- {text.split(chr(10))[0]}\n".encode(), sought).count == 0


def test_the_text_is_removed_from_a_name_which_stays_valid():
    sought = TextMatcher.of(SPELLED)
    line = {"id": "7", "session": f"{SPELLED} 3", "role": "user", "user": "ann", "text": "hello"}

    left = json.loads(cut_transcript(json.dumps(line).encode(), sought).raw)

    assert left == {**line, "session": "… 3"}


def test_an_id_that_contains_the_letters_by_chance_is_kept():
    line = {"id": "01a2bed42db5", "role": "user", "text": "hello"}
    raw = json.dumps(line).encode()

    assert json.loads(cut_transcript(raw, TextMatcher.of("bed")).raw) == line
