"""The text that a reader sees, and where each of its letters is in the source."""

from tests.every import every
from vault_memory.rules.forgetting import rendered_text
from vault_memory.rules.forgetting.rendered_text import GAP, reading, rendered


@every(
    ("source", "seen"),
    [
        ("**Bo** _sails_ `fast` ~~now~~ ==x== ^y^", "bo sails fast now x y"),
        ("a [link](https://x.example/a(b)c) b", "a link b"),
        ("a ![img](x.png) [b][1] [[Note|shown]] [[Boats]]", "a img b shown boats"),
        ("a <b class='x'>c</b> <!-- d --> e", "a c d e"),
        ("see <https://x.example/a_b>", "see https://x.example/a_b"),
        ("a &amp; b &#65; &#x42; &amp;lt; &nosuch; ", "a & b a b < &nosuch; "),
        (r"a \* b \_c", "a b c"),
        ("> quoted\n> > twice", "quoted twice"),
        ("long-\n  word semi-circle non\u2011stop", "longword semicircle nonstop"),
        ("a - b -c", "a - b -c"),
        ("one\ntwo \t three", "one two three"),
        ("one\n\ntwo\n \nthree", f"one{GAP}two{GAP}three"),
        ("one\r\ntwo\r\n\r\nthree", f"one two{GAP}three"),
        ("CAF\u00c9 cafe\u0301", "caf\u00e9 caf\u00e9"),
        ("\ufb01sh \uff42", "fish b"),
        ("a\u200bb\u00adc", "abc"),
        ("", ""),
    ],
)
def test_markup_and_invisible_letters_are_left_out(source: str, seen: str) -> None:
    assert rendered(source) == seen


@every(
    ("source", "part", "in_source"),
    [
        ("a **Bo** b", "bo", "Bo"),
        ("x &#66;o y", "bo", "&#66;o"),
        ("a lon-\n g", "long", "lon-\n g"),
        ("un [deux](x) trois", "deux](x) trois"[:4], "deux"),
        ("cafe\u0301s", "\u00e9", "e\u0301"),
        ("a \n\t b", " ", " \n\t "),
    ],
)
def test_each_letter_knows_its_place_in_the_source(source: str, part: str, in_source: str) -> None:
    text, edges = reading(source)
    start = text.index(part)

    first, last = edges[start][0], edges[start + len(part) - 1][1]

    assert len(edges) == len(text)
    assert source[first:last] == in_source


@every(
    ("source", "letters"),
    [
        ("**Bo** & Co. 7_a", "boco7a"),
        ("B&#111; [x](y) <i>z</i>", "boxz"),
        ("\u00c9t\u00e9 \u200bx", "\u00e9t\u00e9x"),
        ("\uff42\u00ad", "b"),
    ],
)
def test_letters_without_markup_are_those_that_a_first_check_compares(
    source: str, letters: str
) -> None:
    assert rendered_text.letters_only(source) == letters


def test_paragraphs_are_parted_by_empty_lines() -> None:
    text = "one\nmore\n\ntwo\n \t\nthree\n"

    parts = [text[start:end] for start, end in rendered_text.paragraphs_of(text)]

    assert parts == ["one\nmore\n\n", "two\n \t\n", "three\n"]
    assert rendered_text.paragraphs_of("") == []


def test_words_are_compared_as_they_look() -> None:
    assert rendered_text.words_alike("**B\u00f6** r\u0430n") == ["bo", "ran"]
