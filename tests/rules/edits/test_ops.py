"""Ops are read leniently, carried out byte for byte, and never fail."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from tests.every import every
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.editable_region import top_region
from vault_memory.markdown.note_items import numbers_named
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import Append, ItemOp, Op, Rejected, as_json, read_op

CASES = re.findall(
    r"^## ([^\n]+)\n\n```note\n(.*?)```\n\n```ops\n(.*?)```\n\n```after\n(.*?)```\n\n([^\n]+)$",
    (Path(__file__).parent / "ops_cases.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def raw_of(shown):
    return shown.replace("↵\n", "\r\n").replace("\n∅\n", "").encode()


def verdicts(outcome, ops):
    """What became of each op, in the order of the ops."""
    applied, rejected = iter(outcome.applied), iter(outcome.rejected)
    refused = [id(one.op) for one in outcome.rejected]
    return [next(rejected).reason if id(op) in refused else next(applied).outcome for op in ops]


def test_every_documented_case_is_tested():
    assert len(CASES) == (Path(__file__).parent / "ops_cases.md").read_text().count("```note")


@every(("title", "note", "ops", "after", "became"), CASES, ids=[case[0] for case in CASES])
def test_each_documented_case_gives_the_documented_result(title, note, ops, after, became):
    said = json.loads(ops)
    outcome = apply_ops(parse(raw_of(note)), said)

    assert render(outcome.doc) == raw_of(after)
    assert verdicts(outcome, said) == became.split()


def test_a_missing_heading_is_refused_with_the_list_of_headings():
    outcome = apply_ops(
        parse(b"## A\n## B\n## A\n"), [{"op": "append", "heading": "C", "line": "x"}]
    )

    assert outcome.rejected[0].headings == ("A", "B")


def test_removed_bytes_are_kept_for_the_audit():
    outcome = apply_ops(
        parse(b"## A\n- one\n  - two\n"), [{"op": "remove", "heading": "A", "match": "one"}]
    )

    assert outcome.applied[0].removed == b"- one\n  - two\n"


LINES = [
    b"## A\n",
    b"## B\r\n",
    b"### C\n",
    b"# T\n",
    b"- one\n",
    b"* two\n",
    b"  - child\n",
    b"  goes on\n",
    b"1. first\n",
    b"prose\n",
    b"\n",
    b"```\n",
    b"~~~\n",
    b"<!-- note\n",
    b"-->\n",
    b"| a | b |\n",
    b"---\n",
    b"- [ ] task\n",
    b"- tea (2026-01-02, ref:1)\n",
    b"    code\n",
    b"> quote\n",
    b"B\n---\n",
    b"\xff\n",
    b"- \xe6\x97\xa5\n",
    b"-\n",
    b"\xef\xbb\xbf## A\n",
    b"\t- tab\n",
    b"[x]: y\n",
]
notes = st.lists(st.sampled_from(LINES), max_size=14).map(b"".join) | st.binary(max_size=40)
headings = st.sampled_from(["A", "B", "C", "T", "", "#", "## A", "新"])
texts = st.sampled_from(
    ["one", "two", "tea", "- tea", "# no", "", "x\ny", "goes", "日", "1. x", "```", "---", "| a |"]
) | st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["op", "heading", "line", "x"]), inner)
    ),
    max_leaves=6,
)
shaped = st.one_of(
    st.fixed_dictionaries({"op": st.just("append"), "heading": headings, "line": texts}),
    st.fixed_dictionaries(
        {"op": st.just("add_heading"), "heading": headings, "lines": st.lists(texts, max_size=3)}
    ),
    st.fixed_dictionaries({"op": st.just("remove"), "heading": headings, "match": texts}),
    st.fixed_dictionaries(
        {"op": st.just("replace"), "heading": headings, "match": texts, "line": texts}
    ),
)


@settings(max_examples=cases(600))
@given(notes, st.lists(shaped | json_values, max_size=4))
@example(b"## A", [{"op": "append", "heading": "A", "line": "x"}])
@example(b"## A\n- \n", [{"op": "replace", "heading": "A", "match": "one", "line": "x"}])
@example(b"", [{"op": "append", "heading": "A", "line": "\ud800"}])
def test_any_json_on_any_bytes_gives_a_verdict_for_each_op(raw, ops):
    doc = parse(raw)
    outcome = apply_ops(doc, ops)

    assert len(outcome.applied) + len(outcome.rejected) == len(ops)
    assert render(doc) == raw
    assert parse(render(outcome.doc)) == outcome.doc
    if all(done.outcome != "applied" for done in outcome.applied):
        assert outcome.doc == doc


appends = st.fixed_dictionaries(
    {"op": st.just("append"), "heading": st.sampled_from("AAAB"), "line": texts}
)


@settings(max_examples=cases(400))
@given(notes, st.lists(appends, min_size=2, max_size=6))
@example(
    b"## A\na\n---\n", [{"op": "append", "heading": "A", "line": line} for line in ("a", "[a]: b")]
)
@example(
    b"## A\n8. x\n\n   ### B\n", [{"op": "append", "heading": "A", "line": line} for line in "abcd"]
)
@example(
    b"## A\n- x",
    [{"op": "append", "heading": "A", "line": line} for line in ("a", "- -", "A", "b")],
)
def test_appending_lines_together_equals_appending_them_one_by_one(raw, ops):
    together = apply_ops(parse(raw), ops)

    doc, applied, rejected = parse(raw), (), ()
    for op in ops:
        outcome = apply_ops(doc, [op])
        doc, applied, rejected = (
            outcome.doc,
            applied + outcome.applied,
            rejected + outcome.rejected,
        )
    assert (together.doc, together.applied, together.rejected) == (doc, applied, rejected)


def others(doc, name):
    """Everything but the sections that a name means, and what stands below their top regions."""
    rest = [(section.name, section.heading.rstrip(), section.body) for section in doc.sections]
    for at in numbers_named(doc, name):
        section, heading, body = rest[at]
        rest[at] = (section, heading, body[top_region(body).text_end :].strip())
    return doc.preamble, rest


@settings(max_examples=cases(600))
@given(notes, shaped.filter(lambda op: op["op"] != "add_heading"))
@example(b"## A\n\xef\xbb\xbf## A\n", {"op": "append", "heading": "A", "line": "```"})
@example(b"## A\n", {"op": "append", "heading": "## A", "line": "one"})
@example(b"### C\n### C\n- one\n", {"op": "remove", "heading": "C", "match": "one"})
def test_text_not_named_by_an_op_stays_byte_for_byte(raw, op):
    doc = parse(raw)
    outcome = apply_ops(doc, [op])

    if isinstance(op["heading"], str):
        assert others(doc, op["heading"].strip()) == others(outcome.doc, op["heading"].strip())


@settings(max_examples=cases(400))
@given(notes, shaped)
def test_applying_an_op_twice_equals_applying_it_once(raw, op):
    once = apply_ops(parse(raw), [op])
    twice = apply_ops(once.doc, [op])

    if op["op"] in ("append", "add_heading"):
        assert twice.doc == once.doc
    if op["op"] == "remove" and once.applied and once.applied[0].outcome == "applied":
        assert twice.applied[0].outcome == "noop_no_match"


@settings(max_examples=cases(300))
@given(notes, headings, texts)
def test_removing_an_added_item_restores_the_note(raw, heading, line):
    doc = parse(raw)
    added = apply_ops(doc, [{"op": "append", "heading": heading, "line": line}])
    if not added.applied or added.applied[0].outcome != "applied" or not raw.endswith(b"\n"):
        return
    removed = apply_ops(
        added.doc, [{"op": "remove", "heading": heading, "match": added.applied[0].op.line}]
    )
    if removed.applied and removed.applied[0].outcome == "applied":
        assert render(removed.doc).replace(b"\r", b"").replace(b"\n", b"") == raw.replace(
            b"\r", b""
        ).replace(b"\n", b"")


@given(shaped)
def test_an_op_is_read_back_as_it_was_written(said):
    outcome = apply_ops(parse(b""), [said])
    if not any(
        isinstance(one, Rejected) and one.reason != "heading_missing" for one in outcome.rejected
    ):
        assert read_op(as_json(read_op(said))) == read_op(said)


def test_an_op_may_be_given_as_an_object():
    assert render(apply_ops(parse(b"## A\n"), [Append("A", "x")]).doc) == b"## A\n- x\n"


def test_one_op_in_a_note_of_many_items_is_cheap():
    raw = b"## A\n" + b"".join(
        b"- item number %d about one thing and another, told at some length here\n" % n
        for n in range(10_000)
    )

    assert render(apply_ops(parse(raw), [Append("A", "x")]).doc) == raw + b"- x\n"


def test_every_op_with_a_match_counts_as_an_op_on_an_item():
    with_match = {
        kind for kind in get_args(Op) if "match" in {field.name for field in fields(kind)}
    }

    assert with_match == set(get_args(ItemOp))
