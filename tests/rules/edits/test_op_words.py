"""Every kind of op reads in words: on one line, in INBOX.md and in the log."""

from dataclasses import fields

from tests.every import every
from vault_memory.rules.edits.audit_record import propose
from vault_memory.rules.edits.inbox_page import describe
from vault_memory.rules.edits.op_words import explained, in_words, reason_words
from vault_memory.rules.edits.ops import OP_NAMES, as_json, read_op

TEXTS = {
    "heading": "Pets",
    "to": "Plants",
    "match": "old cat",
    "line": "young cat",
    "lines": ["a cat", "a dog"],
}
"""Values for the fields of any op"""


@every("name", sorted(OP_NAMES))
def test_each_proposed_op_is_described_with_all_its_fields(name: str):
    op = read_op({"op": name, **TEXTS})

    question = describe(propose("memory/b.md", op, ""))

    assert "b.md" in question
    for field in fields(op):
        value = TEXTS.get(field.name, [])
        for text in [value] if isinstance(value, str) else value:
            assert text in question


@every("name", sorted(OP_NAMES))
def test_each_op_has_a_description_in_the_log(name: str):
    op = read_op({"op": name, **TEXTS})

    assert "Pets" in in_words(as_json(op))


def test_a_recorded_op_without_its_fields_is_still_shown():
    assert in_words({"op": "append"}) == "append to None: None"
    assert in_words({"op": "op of a newer version"}) == "op of a newer version"
    assert in_words(["no op"]) == "['no op']"


def test_equal_items_in_sections_of_one_name_are_told_apart_by_their_sections():
    places = ("Pets (line 1)", "Pets (line 9)")

    sentence = explained("multiple_matches", {"op": "remove"}, places)

    assert all(place in sentence for place in places)
    assert "more of the words" not in sentence
    assert "more of the words" in explained("multiple_matches", {"op": "remove"})


def test_a_reason_reads_as_a_sentence_with_the_next_step():
    assert explained("heading_missing", {"op": "append"}, ["A", "B"]) == (
        "the note has no such section; name one of these, or add one: A, B"
    )
    assert reason_words("a person wrote the item") == "you wrote this line, so the bot asks"
    assert reason_words("it reads: {odd}") == "it reads: {odd}"
    assert reason_words("wrong_type") == "wrong type"
