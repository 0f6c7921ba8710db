"""What others wrote is left out of a turn, and what the person says stays as it was said."""

import pytest

from tests.every import every
from vault_memory.errors import ConfigError
from vault_memory.models.llm.own_words import own_words, spoken
from vault_memory.rules.conversations.others_words import CUT, LISTS, OthersWords
from vault_memory.rules.conversations.quotation_marks import HIDDEN

CUT_MARK = CUT.strip()


def own(text: str) -> list[str]:
    """The lines that are the person's own, and a mark for what was left out."""
    return [line for line in own_words(text).text.splitlines() if line.strip()]


@every(
    ("text", "lines"),
    [
        ("I live in Oslo.\n> I live in Bergen.\nSo do I.", 2),
        ("Look:\n```\nI live in Bergen\n```\nI live in Oslo.", 2),
        ("Look:\n~~~\nI live in Bergen\n~~~\nI live in Oslo.", 2),
        ("Look.\n<!-- I live in Bergen -->\nI live in Oslo.", 2),
        ("[quote]I live in Bergen[/quote]\nI live in Oslo.", 1),
        ('Look.\n{"text": "I live in Bergen"}\nI live in Oslo.', 2),
        ("Look.\n<p>I live in Bergen</p>\nI live in Oslo.", 2),
        ("I live in Oslo.\nEve  12:03 PM\nI live in Bergen.", 1),
        ("I live in Oslo.\nFrom: Eve <eve@example.org>\nI live in Bergen.", 1),
        ("I live in Oslo.\nFrom: Eve\nSubject: news\nI live in Bergen.", 1),
        ("I live in Oslo.\n--\nI live in Bergen.", 1),
        ("I live in Oslo.\nOn Monday Eve wrote:\nI live in Bergen.", 2),
        ("I live in Oslo.\nFwd: I live in Bergen.", 2),
        ("I live in Oslo.\nBo: I live in Bergen.\nEve: So do I.", 1),
        ("Dear Bo,\nI live in Bergen.\nKind regards,\nEve", 0),
    ],
)
def test_what_another_wrote_is_left_out(text: str, lines: int) -> None:
    found = own(text)

    assert CUT_MARK in found
    assert not any("Bergen" in line for line in found)
    assert len([line for line in found if line != CUT_MARK]) == lines


@every(
    "text",
    [
        "I live in Oslo.",
        "I live in Oslo.\nI am Bo.",
        "As I wrote: I live in Oslo.",
        "Remember this: I live in Oslo.",
        "My list {a, b} is short.",
        "I like a < b and <nothing> else.",
        "Meet me at 12:03",
        "Eve  12:03 PM",
        "Bo: I live in Oslo.",
        "I review books.",
        "Kind regards,",
    ],
)
def test_what_the_person_says_stays(text: str) -> None:
    words = own_words(text)

    assert words.text == text
    assert not words.is_pasted


@every(
    ("text", "kept"),
    [
        ("Translate this letter: I live in Bergen.", "Translate this letter:"),
        ("Summarize this text.\n\nI live in Bergen.", "Summarize this text."),
        ("Is this spam?\n\nI live in Bergen.", "Is this spam?"),
        ("Write a story about a girl. I live in Bergen.", ""),
    ],
)
def test_a_text_to_work_on_is_no_statement_of_the_person(text: str, kept: str) -> None:
    words = own_words(text)

    assert "Bergen" not in words.text
    assert words.text.startswith(kept)
    assert words.is_pasted


def test_a_turn_of_several_paragraphs_may_be_pasted() -> None:
    assert own_words("I live in Oslo.\n\nI sail.").is_pasted
    assert not own_words("I live in Oslo.\nI sail.\n\n").is_pasted


def test_a_quotation_is_hidden_and_a_name_is_not() -> None:
    assert spoken("My cat is called 'Miro'.") == "My cat is called 'Miro'."
    hidden = spoken("Eve said 'I hate it' and left.")
    assert HIDDEN in hidden
    assert "hate" not in hidden
    assert len(hidden) == len("Eve said 'I hate it' and left.")


def test_a_table_without_a_list_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=f"has no list `{LISTS[0]}`"):
        OthersWords([{}])
