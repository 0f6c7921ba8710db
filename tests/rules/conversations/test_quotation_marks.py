"""What is between quotation marks is found in each way of writing them, and apostrophes quote nothing."""

from tests.every import every
from vault_memory.rules.conversations import quotation_marks
from vault_memory.rules.conversations.quotation_marks import HIDDEN, quotations, unquoted


def quoted(text: str) -> list[str]:
    return [text[start:end] for start, end in quotations(text)]


@every(
    "quotation",
    [
        '"a b"',
        "“a b”",
        "„a b“",
        "„a b”",
        "”a b”",
        "«a b»",
        "»a b«",
        "‹a b›",
        "›a b‹",
        "「a b」",
        "『a b』",
        "《a b》",
        "〈a b〉",
        "‘a b’",
        "‚a b‘",
        "'a b'",
        "`a b`",
        "＂a b＂",
        "〝a b〞",
        "“a ‘b’ c”",
        "「a『b』」",
        '"a "b" c"',
        "«a «b» c»",
        "“it isn't”",
    ],
)
def test_a_quotation_is_found_with_its_marks(quotation: str) -> None:
    assert quoted(f"He said {quotation}, yes.") == [quotation]


@every(
    "text",
    [
        "it doesn't, and they don't",
        "a 27\" screen and a 5' mast",
        "rock 'n roll",
        "the boats' masts",
        "",
        "a ' b",
        "a ” b",
        "'s avonds\n\nen de boten' masten",
    ],
)
def test_apostrophes_and_inches_quote_nothing(text: str) -> None:
    assert quoted(text) == []


@every(
    ("text", "quotations"),
    [
        ('a "b" c "d" e', ['"b"', '"d"']),
        ('a "never closed', ['"never closed']),
        ("a “b “c” d", ["“b “c” d"]),
        ("'a' and 'b'", ["'a'", "'b'"]),
        ('"a"b"', ['"a"']),
        ('("a")', ['"a"']),
    ],
)
def test_several_and_unclosed_quotations_are_found(text: str, quotations: list[str]) -> None:
    assert quoted(text) == quotations


def test_so_many_nested_quotations_are_read_and_no_more() -> None:
    text = "«" * 50 + "a"

    assert quoted(text) == [text]
    assert quoted("(“" * 30 + "a" + "”" * 30)


def test_a_text_keeps_its_length_and_shows_what_is_asked_for() -> None:
    text = 'He said "go", and "stay".'

    assert unquoted(text) == f"He said {HIDDEN * 4}, and {HIDDEN * 6}."
    assert unquoted(text, shows=lambda text, start, end: text[start:end] == '"go"') == (
        f'He said "go", and {HIDDEN * 6}.'
    )
    assert unquoted("nothing") == "nothing"


@every(
    ("text", "end"),
    [('He said "Go." She went.', '."'), ('He said "Go!"', '!"'), ("他说「走。」 然后", "。」")],
)
def test_the_end_of_a_quoted_sentence_ends_the_one_around_it(text: str, end: str) -> None:
    assert end in unquoted(text)


@every("text", ['He said "Go." and went.', 'He said "Go", She went.'])
def test_a_quotation_in_the_middle_of_a_sentence_ends_nothing(text: str) -> None:
    assert '"' not in unquoted(text)


@every(
    ("text", "is_title"),
    [
        ('the book "The Long Way Round Again"', True),
        ('the book "The Very Long Way Round Again"', False),
        ('he said: "Go away"', False),
        ('he said : "Go away"', False),
        ('he said "Go. Away"', False),
        ('he said ""', False),
        ('he said " "', False),
        ("书「三体」", True),
        ("书「一二三四五六」", True),
        ("书「一二三四五六七」", False),
    ],
)
def test_a_title_is_short_and_has_no_sentence(text: str, is_title: bool) -> None:
    [(start, end)] = quotations(text)

    assert quotation_marks.is_title(text, start, end) is is_title
