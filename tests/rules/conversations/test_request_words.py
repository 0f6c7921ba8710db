"""Words with which a person requests and a bot serves say nothing of a topic."""

from tests.every import every
from vault_memory.rules.conversations import request_words


@every(
    ("text", "query", "asked"),
    [
        ("I need the boiler pressure", {"boiler", "pressure"}, "the boiler pressure"),
        ("Please, I need the boiler pressure", {"boiler"}, "the boiler pressure"),
        ("I need insulin", {"what", "need"}, ""),
        ("I need insulin", {"need"}, "insulin"),
        ("I need insulin", {"need", "please", "insulin"}, "insulin"),
        ("The boiler has pressure", {"boiler"}, ""),
        ("I need the pressure. The boiler is old.", {"pressure"}, ""),
        ("I need " + "x" * request_words.LONGEST_WISH, {"x"}, ""),
        ("", set(), ""),
        ("please", set(), ""),
    ],
)
def test_a_wish_asks_for_what_comes_after_it(text: str, query: set[str], asked: str) -> None:
    assert request_words.wished_part(text, query) == asked


def test_words_of_service_and_of_wishes_are_left_out() -> None:
    assert request_words.without_service("Happy to help with the boiler!") == ["boiler"]
    assert request_words.serves("happy")
    assert not request_words.serves("boiler")
    assert request_words.without_wishes(["need", "boiler"]) == ["boiler"]
    assert request_words.without_wishes(["need"]) == ["need"]
    assert request_words.without_wishes(["möchte", "heizung"]) == ["heizung"]


def test_yes_and_not_are_content_and_stop_words_are_none() -> None:
    assert request_words.content_words("yes, the boiler is not on") == ["yes", "boiler", "not"]


@every(
    ("word", "words", "among"),
    [
        ("boiler", ["boiler"], True),
        ("boiler", ["boilers"], True),
        ("sailing", ["sail"], True),
        ("sail", ["sailings"], False),
        ("sea", ["seas"], False),
        ("1234", ["12345"], False),
        ("boat", ["goat"], False),
    ],
)
def test_a_word_is_among_others_in_another_form(word: str, words: list[str], among: bool) -> None:
    assert request_words.is_among(word, words) is among


@every(
    ("words", "nothing"),
    [
        (["hello", "thanks"], True),
        (["你好"], True),
        (["a"], True),
        (["7"], False),
        (["é"], False),
        (["thanks", "boiler"], False),
        ([], True),
    ],
)
def test_greetings_and_thanks_ask_nothing(words: list[str], nothing: bool) -> None:
    assert request_words.asks_nothing(words) is nothing
