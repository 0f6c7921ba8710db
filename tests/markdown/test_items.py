"""Items: spans of bytes, the lenient grammar, and the text by which they are compared."""

import unicodedata
from datetime import date

from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from tests.markdown.shapes import notes
from vault_memory.markdown.editable_region import top_region
from vault_memory.markdown.items import ItemFields, normalised, parse_item
from vault_memory.markdown.letters import folded, without_case


def test_an_item_includes_its_continuation_lines_and_children() -> None:
    body = b"text\n- a\r\n  more\n  - child\n\n* b\n"

    assert [(body[one.start : one.end], one.depth) for one in top_region(body).items] == [
        (b"- a\r\n  more\n  - child\n", 1),
        (b"  - child\n", 2),
        (b"* b\n", 1),
    ]


@given(notes.map(str.encode))
def test_items_are_ordered_and_properly_nested(body: bytes) -> None:
    ends: list[int] = []
    for one in top_region(body).items:
        del ends[one.depth - 1 :]
        assert one.start < one.end <= len(body)
        assert all(one.end <= end for end in ends)
        ends.append(one.end)


@every(
    ("line", "fields"),
    [
        ("- Likes tea", ItemFields("Likes tea")),
        (
            "- Likes tea (2026-01-28, ref:1235)",
            ItemFields("Likes tea", date=date(2026, 1, 28), ref="1235"),
        ),
        (
            '- [relationship] Worries about work — "my boss is terrible" (2026-02-03, ref:1301, origin:talk)',
            ItemFields(
                "Worries about work",
                type="relationship",
                evidence="my boss is terrible",
                date=date(2026, 2, 3),
                ref="1301",
                origin="talk",
            ),
        ),
        (
            "3) x (2026-01-28, conf:0.5, topic: work, until:2026-03-01, confirmed, supersedes:7c1e90ab12) ^id-1",
            ItemFields(
                "x",
                date=date(2026, 1, 28),
                conf=0.5,
                topic="work",
                until=date(2026, 3, 1),
                confirmed=True,
                supersedes="7c1e90ab12",
                block_id="id-1",
            ),
        ),
        ("- Met Bob (at noon)", ItemFields("Met Bob (at noon)")),
        ("- Met Bob (at noon, ref:1)", ItemFields("Met Bob (at noon, ref:1)")),
        (
            "- Met Bob (2026-01-28, at noon)",
            ItemFields("Met Bob (at noon)", date=date(2026, 1, 28)),
        ),
        ("- Met Bob (2026-13-28)", ItemFields("Met Bob (2026-13-28)")),
        ("- Met Bob (ref:1, conf:7)", ItemFields("Met Bob (ref:1, conf:7)")),
        ("- [site](x.org) is down", ItemFields("[site](x.org) is down")),
        ("- [[Home]] is warm", ItemFields("[[Home]] is warm")),
        ("- [ ] call mum", ItemFields("call mum")),
        (
            "* a\n  b (2026-01-28)\n  - child (2026-01-29)",
            ItemFields("a b", date=date(2026, 1, 28)),
        ),
        ("- [идея] чай", ItemFields("чай", type="идея")),
        ("", ItemFields("")),
        ("-", ItemFields("")),
    ],
)
def test_an_item_is_parsed_leniently(line: str, fields: ItemFields) -> None:
    assert parse_item(line) == fields


@given(st.one_of(st.text(), notes))
@example("- (2026-01-28)")
@example("- a (" + "(" * 50)
def test_parsing_an_item_never_fails(text: str) -> None:
    parse_item(text)
    normalised(text)


@every(
    ("one", "other"),
    [
        ("- Likes tea.", "* likes  TEA (2026-01-28, ref:7)"),
        ("1. Likes tea", "- [x] Likes\n  tea"),
        ("- cafe\u0301", "- CAFÉ"),
        ("- Straße", "- STRASSE"),
        ("- a. (2026-01-28)", "- a ^id"),
        ("- 茶。", "- 茶"),
    ],
)
def test_items_with_the_same_meaning_normalise_to_the_same_text(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_items_with_different_meanings_normalise_differently() -> None:
    assert normalised("- likes tea") != normalised("- likes teas")
    assert normalised("- call (at noon)") != normalised("- call")


@given(st.text())
def test_letters_of_any_composition_have_one_form_without_case(text: str) -> None:
    assert without_case(unicodedata.normalize("NFD", text)) == without_case(text)


def test_a_path_without_case_keeps_its_signs() -> None:
    assert without_case("E\u0301LAN’S stra\u00dfe") == "élan’s strasse"
    assert folded("E\u0301LAN’S stra\u00dfe") == "élan's strasse"
