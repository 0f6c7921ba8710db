"""The text of an item is what a reader sees, and its parts are all of its bytes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from tests.markdown.shapes import notes
from vault_memory.markdown.chunking.chunk_text import embed_text
from vault_memory.markdown.document import parse
from vault_memory.markdown.item_text import escaped, parts_of, split_box, unescaped, written_item
from vault_memory.markdown.items import normalised, normalised_text, parse_text
from vault_memory.markdown.note_items import item_id, items_of
from vault_memory.rules.facts.fact import fact_id

LIKE_MARKERS = [
    "24. Dezember: Oma",
    "1) first",
    "2026. A year",
    "24.",
    "+ 5 points",
    "* starred",
    "+",
    "007. agent",
]
PLAIN = [
    "1.5 litres",
    "5 - 3 = 2",
    "+49 30 1234",
    "*loud* and clear",
    "-5 degrees",
    "#1 fan",
    "12345678901. too long for a marker",
    "24.12. Oma",
    "24.\u00a0Dezember",
]


@given(notes.map(str.encode) | st.binary(max_size=60))
@example(b"- [x] one ^id\n  key:: value\n")
@example(b"-\n  one\n")
def test_the_parts_of_an_item_join_to_its_bytes(own: bytes) -> None:
    assert b"".join(parts_of(own)) == own


@every("text", LIKE_MARKERS)
def test_a_text_like_a_marker_gets_a_backslash_that_no_reader_sees(text: str) -> None:
    [item] = items_of(parse(b"## A\n" + written_item(b"- ", text)))

    assert item.text == text
    assert escaped(text) != text
    assert escaped(escaped(text)) == escaped(text)
    assert unescaped(escaped(text)) == text


@every("text", PLAIN)
def test_a_plain_text_gets_no_backslash(text: str) -> None:
    [item] = items_of(parse(b"## A\n- " + text.encode()))

    assert escaped(text) == text
    assert item.text == " ".join(text.split())


@every("text", LIKE_MARKERS)
def test_an_item_has_one_text_with_and_without_a_backslash(text: str) -> None:
    plain, with_backslash = (
        items_of(parse(b"## A\n- " + form.encode()))[0] for form in (text, escaped(text))
    )

    assert plain.text == with_backslash.text == text
    assert plain.key == with_backslash.key
    assert normalised(f"- {escaped(text)}") == normalised_text(text)
    assert item_id("user:a", "user", plain.text) == item_id("user:a", "user", text)
    assert embed_text((), "", f"- {text}") == embed_text((), "", f"- {escaped(text)}")


@pytest.mark.parametrize(
    ("text", "item", "fact"),
    [
        ("Anna’s bike – blue", "9f08185a2a", "f969ae9967"),
        ("of\u00adfice ﬂowers", "fd18c30e1c", "196b6045e4"),
        ("café", "43b8e708b7", "b1cc3d7e94"),
    ],
)
def test_an_id_that_was_printed_stays(text: str, item: str, fact: str) -> None:
    assert item_id("user:a", "user", text) == item
    assert fact_id("user:a", text, "likes", text, None) == fact


def test_two_days_are_two_texts() -> None:
    ids = {item_id("user:mira", "user", f"{day}. Dezember: Oma") for day in range(1, 32)}

    assert len(ids) == 31
    assert parse_text("24. Dezember: Oma").text == "24. Dezember: Oma"


@every("letter", [*" xX/->!?*<in1", "✓", "★", "д"])
def test_a_box_may_have_any_letter(letter: str) -> None:
    own = f"- [{letter}] water plants\n"
    [item] = items_of(parse(b"## A\n" + own.encode()))

    assert (item.box, item.text) == (letter, "water plants")
    assert split_box(f"[{letter}] water plants") == (letter, "water plants")
    assert normalised(own) == "water plants"


@every("text", ["[a](b) c", "[[a]] b", "[^1] a", "[]", "[x]y", "[ab] c"])
def test_a_link_is_no_box(text: str) -> None:
    assert split_box(text) == ("", text)
