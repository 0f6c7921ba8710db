"""Each changed line of a record reads as a person would say it, whatever the note is written in."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.audit_record import Proposal, Record, RecordedOp, propose, record_run
from vault_memory.rules.edits.ops import Replace
from vault_memory.rules.edits.record_sentences import (
    FOLDED,
    FORGOTTEN,
    LONGEST,
    news_of,
    outcome_of,
    sentences_of,
)

USER = "Users/mira/bot/config/USER.md"
FACTS = "Users/mira/bot/config/FACTS.md"

Said = list[tuple[str, ...]]


def record_of(before: str, after: str, note: str = USER) -> Record:
    head = Record("1", "2026-11-21T03:00:00+01:00", "mira", "cli", note)
    raw = before.encode("utf-8", "surrogatepass"), after.encode("utf-8", "surrogatepass")
    return record_run(head, before=raw[0], after=raw[1])


def said(before: str, after: str, note: str = USER) -> Said:
    return [tuple(filter(None, line)) for line in sentences_of(record_of(before, after, note))]


def said_of_ops(before: str, *ops: dict[str, object], note: str = USER) -> Said:
    outcome = apply_ops(parse(before.encode()), ops)
    assert not outcome.rejected, outcome.rejected
    record = record_run(
        Record("1", "2026-11-21T03:00:00+01:00", "mira", "nightly", note),
        before=before.encode(),
        after=render(outcome.doc),
        applied=outcome.applied,
    )
    return [tuple(filter(None, line)) for line in sentences_of(record)]


PLANS = "# Mira\n\n## Plans\n\n- [plan] Paint the railing (2026-04-20, until:2026-06-20)\n- Sow **peas**\n"
PLAN = "Paint the railing"


@every(
    ("op", "sentences"),
    [
        (
            {"op": "append", "heading": "Plans", "line": "[plan] Order oil (2026-05-01, ref:1118)"},
            [("added", "Order oil")],
        ),
        ({"op": "remove", "heading": "Plans", "match": "peas"}, [("removed", "Sow peas")]),
        (
            {"op": "archive", "heading": "Plans", "match": "railing"},
            [("changed", f"Archived: {PLAN}")],
        ),
        (
            {"op": "replace", "heading": "Plans", "match": "peas", "line": "Buy a new boat"},
            [("changed", "Buy a new boat", "Sow peas")],
        ),
        (
            {"op": "add_heading", "heading": "Pets", "lines": ["a cat", "[note] a dog"]},
            [("added", "a cat"), ("added", "a dog")],
        ),
    ],
    ids=["append", "remove", "archive", "replace", "add_heading"],
)
def test_each_op_reads_as_its_lines(op: dict[str, object], sentences: Said) -> None:
    assert said_of_ops(PLANS, op) == sentences


@every(
    ("before", "after", "sentences"),
    [
        ("- [ ] call Ada\n", "- [x] call Ada ✅ 2026-05-02\n", [("changed", "Done: call Ada", "call Ada")]),
        ("", "- [ ] buy salt 📅 2026-05-01 ➕ 2026-04-01\n", [("added", "buy salt 📅 2026-05-01")]),
        ("- TODO [#A] mow\n", "- DONE mow\n", [("changed", "Done: mow", "mow")]),
        ("", "- wife:: [[Ada Holm|Ada]]\n  id:: 64f\n  collapsed:: true\n", [("added", "wife: Ada")]),
        ("", "| Boat | Metres |\n|---|--:|\n| Petrel | 31 |\n", [("added", "Boat · Metres"), ("added", "Petrel · 31")]),
        ("- 住在北京\n", "- 住在上海\n", [("changed", "住在上海", "住在北京")]),
        ("", "- [идентичность] Живёт в Москве\n", [("added", "Живёт в Москве")]),
        ("- يحب القهوة\n", "", [("removed", "يحب القهوة")]),
        ("- one\r\n", "- one\r\n- two\r\n", [("added", "two")]),
        ("- one\r\n- two\r\n", "- one\n- two\n", [("changed", "Other marks: one"), ("changed", "Other marks: two")]),
        ("a\n", "a\n\n\n", [("changed", "Only blanks and line ends")]),
        ("", "> [!note] Mind the *step*\n> - [ ] oil it ^b1\n", [("added", "Mind the step"), ("added", "oil it")]),
        ("", "- x %%of the bot%% y <!-- z -->\n", [("added", "x y")]),
        ("- a line\n", "- ~~a line~~\n", [("changed", "No longer: a line", "a line")]),
        ("", "## Plans\n\n- Sow\n", [("added", "Sow")]),
        ("", "## Plans\n\n", [("added", "Section: Plans")]),
        ("## Plan\n\n- a\n", "## Plans\n\n- a\n", [("changed", "Section: Plans", "Section: Plan")]),
        ("---\ntags: [a]\n---\nx\n", "---\ntags: [a, b]\n---\nx\n", [("changed", "tags: [a, b]", "tags: [a]")]),
        ("---\ntags: [a]\n---\nx\n", "---\ntags: [b]\n---\nx\n- y\n", [("added", "y")]),
        ("", "Worries — “a siren has no manners” (2026-04-28, ref:1118)\n", [("added", "Worries")]),
        ("- a (2026-01-01, ref:1)\n", "- a (2026-01-01, ref:1, confirmed)\n", [("changed", "Still true: a")]),
        ("- a\n- b\n", "- b\n- a\n", [("changed", "Moved: b")]),
        ("- Likes tea\n- Has a cat\n", "- Likes green tea\n- Has a cat\n", [("changed", "Likes green tea", "Likes tea")]),
        ("- Likes tea\n- Sails\n", "- Paints\n- Likes green tea\n", [("removed", "Sails"), ("added", "Paints"), ("changed", "Likes green tea", "Likes tea")]),
        ("", "- **Name:** Mira `x` [site](https://example.org)\n", [("added", "Name: Mira x site")]),
    ],
)  # fmt: skip
def test_a_save_reads_as_its_lines(before: str, after: str, sentences: Said) -> None:
    assert said(before, after) == sentences


MIRA = "## mira\n\n- is_a: person\n- lives_in: Ostervik (since 2011-08-01)\n"
TOWN = "## petrel\n\n- is_a: boat\n"


@every(
    ("before", "after", "sentences"),
    [
        (MIRA, f"{MIRA}- works_with: **Tomas** Cogg (ref:1402)\n", [("added", "Works with Tomas Cogg")]),
        (
            MIRA,
            "## mira\n\n- is_a: person\n- ~~lives_in: Ostervik~~ (2011-08-01 to 2019-03-01)\n"
            "- lives_in: the light (since 2019-03-01)\n",
            [("changed", "No longer: Lives in Ostervik", "Lives in Ostervik"), ("added", "Lives in the light")],
        ),
        (TOWN, f"{TOWN}- owned_by: Ove\n", [("added", "Petrel: owned by Ove")]),
        ("", "## 北京\n\n- 人口： 很多\n", [("added", "北京: 人口 很多")]),
        (MIRA, MIRA.replace(" (since 2011-08-01)", " (since 2011-08-01, confirmed)"),
         [("changed", "Still true: Lives in Ostervik")]),
        (MIRA, MIRA.replace("Ostervik", "Oslo"), [("changed", "Lives in Oslo", "Lives in Ostervik")]),
        (MIRA, f"{MIRA}- a remark\n", [("added", "a remark")]),
    ],
    ids=["new", "superseded", "of another", "chinese", "confirmed", "other value", "no fact"],
)  # fmt: skip
def test_a_fact_reads_as_predicate_and_value(before: str, after: str, sentences: Said) -> None:
    assert said(before, after, FACTS) == sentences


def test_a_fact_far_below_its_heading_has_its_subject_from_the_op() -> None:
    lines = "".join(f"- likes: boat {number}\n" for number in range(9))
    op: dict[str, object] = {"op": "append", "heading": "petrel", "line": "cook: Mei Lin"}

    assert said_of_ops(f"## petrel\n\n{lines}", op, note=FACTS) == [
        ("added", "Petrel: cook Mei Lin")
    ]


def test_an_undo_reads_as_what_it_gives_back() -> None:
    replaced = {"op": "replace", "heading": "A", "match": "x", "line": "Sings"}
    undo = RecordedOp({"op": "undo", "of": replaced}, "applied", b"- Sings\n", b"- Knits\n")

    record = replace(record_of("## A\n- Sings\n", "## A\n- Knits\n"), applied=(undo,))

    assert [*map(tuple, sentences_of(record))] == [("changed", "Knits", "Sings")]


def test_what_was_forgotten_or_folded_says_no_more_than_that() -> None:
    record = record_of("", "- my secret\n")

    assert sentences_of(replace(record, redacted=True)) == [FORGOTTEN]
    assert sentences_of(replace(record, diff=b"")) == [FORGOTTEN]
    assert sentences_of(replace(record, folded=("1",))) == [FOLDED]
    assert sentences_of(record_of("- a\n", "- a\n")) == []


def test_a_long_line_is_cut_and_hostile_letters_stay_for_the_faces_to_escape() -> None:
    [long] = sentences_of(record_of("", "- " + "字" * 2_000 + "\n"))
    [hostile] = sentences_of(record_of("", "- <script onclick=x>\u202ehi\x1b[31m\n"))

    assert long.text == "字" * LONGEST + "…"
    for letters in ("\u202e", "\x1b[31m", "onclick"):
        assert letters in hostile.text


def test_a_save_of_many_lines_is_not_compared_line_by_line() -> None:
    olds = "".join(f"- old line {number}\n" for number in range(400))

    assert len(said(olds, olds.replace("old", "new"))) == 800


def proposal(state: str) -> Proposal:
    return replace(propose(USER, Replace("Plans", "Sow peas", "Sow kale"), "why"), state=state)


@every(
    ("fields", "outcome", "news"),
    [
        ({}, "Added “b”", "USER.md: added 1 line"),
        ({"source": "nightly"}, "Learned: b", "USER.md: added 1 line"),
        ({"undoes": "0"}, "Undone: added “b”", "USER.md: added 1 line"),
        ({"redacted": True}, "What it said was forgotten", "USER.md: changed 1 line"),
        ({"before": "", "after": ""}, "Nothing was changed", "USER.md: nothing was changed"),
        ({"after": ""}, "Thrown away", "USER.md: added 1 line"),
        (
            {"applied": (RecordedOp({"op": "rename", "to": "x/B.md"}, "applied"),)},
            "Renamed to x/B.md",
            "USER.md: added 1 line",
        ),
        (
            {"proposed": (proposal("open"),)},
            'Added “b”. Proposed: change in USER.md › Plans: "Sow peas" to "Sow kale"',
            "USER.md: added 1 line, proposed: 1 change",
        ),
        (
            {"after": "", "before": "", "proposed": (proposal("open"), proposal("open"))},
            "Proposed: 2 changes",
            "USER.md: proposed: 2 changes",
        ),
        (
            {"after": "", "before": "", "proposed": (proposal("rejected"),)},
            "Rejected. The note stays as it was",
            "USER.md: nothing was changed",
        ),
        ({"proposed": (proposal("approved"),)}, "Added “b”", "USER.md: added 1 line"),
    ],
)  # fmt: skip
def test_a_record_says_what_it_came_to(fields: dict[str, object], outcome: str, news: str) -> None:
    record = replace(record_of("- a\n", "- a\n- b\n"), **fields)  # type: ignore[arg-type]

    assert outcome_of(record) == outcome
    assert news_of(record) == news


@every(
    ("before", "after", "outcome"),
    [
        ("- a\n- b\n", "- a\n", "Removed “b”"),
        ("- Likes tea\n", "- Likes rooibos\n", "Changed “Likes tea” to “Likes rooibos”"),
        ("- [ ] mow\n", "- [x] mow\n", "Done: mow"),
        ("- **a**\n", "- a\n", "Other marks: a"),
        ("a\n", "a\n\n", "Only blanks and line ends"),
        ("", "## Plans\n", "Added “Section: Plans”"),
        ("- a\n\n- b\n", "- x\n- y\n- a\n", "Added 2 lines, removed 1 line"),
    ],
)
def test_a_save_says_what_it_came_to(before: str, after: str, outcome: str) -> None:
    assert outcome_of(record_of(before, after)) == outcome


words = st.text(st.sampled_from("abc xyzäЖ字ع\u202e\x07:*_|[]()~`-#>%<"), max_size=20)
marks = st.sampled_from(["- ", "- [ ] ", "- [x] ", "1. ", "> ", "## ", "", "- [plan] ", "  - "])
tails = st.sampled_from(
    ["", " (2026-04-20, ref:1118)", " ^b1", " (ref:7)", " ✅ 2026-05-02", " (conf:0.5)"]
)
lines = st.builds(lambda mark, text, tail: f"{mark}{text}{tail}", marks, words, tails)
notes = st.lists(lines, max_size=8).map(lambda rows: "\n".join(rows))


@given(notes, notes, st.sampled_from([USER, FACTS]))
@settings(max_examples=cases(200))
def test_whatever_changed_has_a_sentence_of_one_line(before: str, after: str, note: str) -> None:
    sentences = sentences_of(record_of(before, after, note))

    assert bool(sentences) == (before != after)
    for sentence in sentences:
        assert sentence.text.strip()
        assert "\n" not in sentence.text
        assert "(ref:" not in sentence.text
        assert not sentence.text.startswith("[plan]")
        assert sentence.text != sentence.before
        assert len(outcome_of(record_of(before, after, note))) < 3 * LONGEST
        assert bool(sentence.before) <= (sentence.change == "changed")


@given(st.binary(max_size=300), st.binary(max_size=300), st.booleans())
@settings(max_examples=cases(100))
def test_no_bytes_raise(before: bytes, diff: bytes, is_diff: bool) -> None:
    record = record_run(Record("1", "", "", "cli", FACTS), before=before, after=diff)

    assert sentences_of(replace(record, diff=diff) if is_diff else record) or before == diff
