"""What a model wrote around its answer is passed over, and what it wrote in another form is read."""

import json
from typing import Any

from tests.every import every
from vault_memory.rules.learning import lenient_json
from vault_memory.rules.learning.lenient_json import JsonMatch, json_in

FACTS = {"facts": [{"subject": "Bo"}]}
BARE = json.dumps(FACTS)


@every(
    ("text", "left"),
    [
        ("<think>a {b} c</think>{}", "{}"),
        ("<THINKING>a\nb</THINKING>\n{}", "{}"),
        ("first some thoughts</think> {}", "{}"),
        ("<reasoning>it never ends", ""),
        ("\ufeff {} ", "{}"),
        ("{} <think>a</think>", "{} <think>a</think>"),
        ("<think>a</reasoning>b</think>{}", "{}"),
    ],
)
def test_thoughts_before_an_answer_are_left_out(text: str, left: str) -> None:
    assert lenient_json.without_thoughts(text) == left


def test_no_more_of_an_endless_answer_is_read_than_its_limit() -> None:
    assert len(lenient_json.without_thoughts("x" * (lenient_json.LONGEST + 5))) == (
        lenient_json.LONGEST
    )


@every(
    ("text", "is_complete"),
    [
        (BARE, True),
        (f"  {BARE}\n", True),
        (f"```json\n{BARE}\n```", False),
        (f"Here it is:\n```\n{BARE}", False),
        (f"Here it is: {BARE} Bye!", False),
        (f"```\n{{no json}}\n```\n{BARE}", False),
        (f'{{"answer": {BARE}}}', False),
        (f'{{"other": 1}} and {{"answer": {BARE}}}', False),
        (f"[1, {{}}] {BARE}", False),
    ],
)
def test_the_first_object_with_the_key_is_found_in_any_wrapping(
    text: str, is_complete: bool
) -> None:
    assert json_in(text, ("memories", "facts")) == JsonMatch(FACTS, is_complete)


@every(
    "text",
    [
        "",
        "no answer",
        '{"other": 1}',
        '["facts"]',
        '{"facts": 1',
        "{" * 500,
        "{}" * lenient_json.MOST_STARTS + BARE,
    ],
)
def test_a_text_without_such_an_object_has_no_value(text: str) -> None:
    assert json_in(text, ("facts",)) is None


@every(
    ("text", "value"),
    [
        ("[]", []),
        ('[{"a": 1}, "b"]', [{"a": 1}, "b"]),
        ('see [{"a": 1}]', [{"a": 1}]),
        ('["a"] then [{"a": 1}]', [{"a": 1}]),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_a_list_of_objects_counts_where_lists_are_asked_for(text: str, value: Any) -> None:
    found = json_in(text, (), lists=True)

    assert found is not None
    assert found.value == value


def test_a_list_is_no_answer_where_an_object_is_asked_for() -> None:
    assert json_in("[]", ()) is None
    found = json_in('[{"a": 1}]', ())
    assert found is not None
    assert found.value == {"a": 1}


@every(
    ("text", "whole"),
    [
        ('{"facts": [{"subject": "Bo"}, {"subject": "A', {"facts": [{"subject": "Bo"}]}),
        ('x {"facts": [{"a": "}]"}, {"b"', {"facts": [{"a": "}]"}]}),
        ('{"memories": [{"a": 1}], "facts": [{"b": [1, 2]}, {', None),
        ('{"a": [{"b": 1}]}', {"a": [{"b": 1}]}),
    ],
)
def test_a_truncated_answer_keeps_its_complete_entries(text: str, whole: Any) -> None:
    done = json.loads(lenient_json.completed(text))

    assert done == (whole or {"memories": [{"a": 1}], "facts": [{"b": [1, 2]}]})


@every("text", ["", "no brackets", '{"facts": "Bo', '{"facts": [', '{"a": {"b": 1}', "}]"])
def test_a_truncated_answer_without_a_complete_entry_has_none(text: str) -> None:
    assert lenient_json.completed(text) == ""


@every(
    "head",
    [
        "MEMORIES:",
        "## Memories",
        "**MEMORIES**:",
        "[memories]",
        "=== MEMORIES ===",
        "  ### MEMORIES : ",
    ],
)
def test_named_sections_are_read_however_their_names_are_marked(head: str) -> None:
    text = f"Hello\n{head}\n- one\n- two\n```\nFACTS: Bo | likes | tea\nmore\n"

    assert lenient_json.sections_in(text) == {
        "memories": "- one\n- two",
        "facts": "Bo | likes | tea\nmore",
    }


def test_words_that_only_begin_like_a_section_belong_to_the_one_above() -> None:
    text = "FACTS:\nmemories of the sea\nopsonin\n"

    assert lenient_json.sections_in(text) == {"facts": "memories of the sea\nopsonin"}


def test_points_and_paragraphs_are_told_apart_and_go_on_over_lines() -> None:
    text = "intro\ngoes on\n- one\n  more of it\n2) two\n• three\n\nlast\n\n\n"

    assert list(lenient_json.blocks(text)) == [
        ("intro goes on", False),
        ("one more of it", True),
        ("two", True),
        ("three", True),
        ("last", False),
    ]
    assert list(lenient_json.blocks("")) == []


@every(
    ("line", "columns"),
    [
        ("Bo | likes | tea", ["Bo", "likes", "tea"]),
        ("Bo Li works_at the yard", ["Bo Li", "works_at", "the yard"]),
        ("Bo likes: tea", ["Bo", "likes", "tea"]),
        ("Bo likes tea", []),
        ("|", ["", ""]),
        ("", []),
    ],
)
def test_a_line_of_facts_is_split_at_bars_or_around_its_verb(line: str, columns: list[str]) -> None:
    assert lenient_json.columns(line) == columns


@every(
    ("value", "meant"),
    [("[t1]", "t1"), ("ref:t1", "t1"), (" (`t1`) ", "t1"), (1, "1"), (True, ""), (False, "")],
)
def test_the_id_of_a_turn_is_read_without_its_marks(value: object, meant: str) -> None:
    assert lenient_json.bare_id(value) == meant


@every(
    ("text", "left"),
    [
        ("Bo sails [t1]", "Bo sails"),
        ("Bo sails (ref: t.2), often", "Bo sails , often"),
        ("Bo ref:t1 sails", "Bo  sails"),
        ("Bo ref:t12 sails [t12]", "Bo ref:t12 sails [t12]"),
        ("Bo [txx] sails; ", "Bo [txx] sails"),
    ],
)
def test_cited_ids_and_no_others_leave_a_text(text: str, left: str) -> None:
    assert lenient_json.without_citations(text, ["t1", "", "t.2"]) == left


def test_rows_entries_and_fields_of_other_kinds_are_passed_over() -> None:
    assert list(lenient_json.rows_in([1, {"a": 1}, "b", {}])) == [{"a": 1}, {}]
    assert list(lenient_json.rows_in({"a": 1})) == []
    assert [lenient_json.entries_of(value) for value in (None, [1], "a", 0)] == [
        [],
        [1],
        ["a"],
        [0],
    ]
    row = {"text": 3, "memory": " - one\n two ", "fact": "x"}
    assert lenient_json.text_field(row, "text", "memory", "fact") == "one two"
    assert lenient_json.text_field(row, "text", "none") == ""


@every(
    ("text", "line"),
    [
        ("# Tea\n\n is\tgreen", "Tea is green"),
        ("12. tea", "tea"),
        ("1234. tea", "1234. tea"),
        ("-tea", "-tea"),
        ("* a * b", "a * b"),
        ("a\u2028b\x07c", "a b c"),
    ],
)
def test_a_text_becomes_one_line_without_a_marker(text: str, line: str) -> None:
    assert lenient_json.one_line(text) == line
