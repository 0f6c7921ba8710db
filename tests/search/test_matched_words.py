"""The words of a query in a text, as the index finds them."""

from tests.every import every
from vault_memory.search.matched_words import MatchedWords


@every(
    ("query", "text"),
    [
        ("keys", "the key"),
        ("hanging", "It hangs there"),
        ("cafe", "Café"),
        ("cafe", "cafe\u0301"),
        ("ABC", "ＡＢＣ"),
        ("straße", "STRASSE"),
        ("ёлка", "Елка"),
        ("C#", "written in C#"),
        ("re-index", "reindex"),
        ("北京", "我们在北京住了三天"),
        ("京", "北京都"),
        ("where is the key?", "keys"),
        ("\ud800 key", "a key"),
    ],
)
def test_a_word_is_in_a_text_in_any_form(query, text):
    assert MatchedWords(query).are_in(text)


@every(
    ("query", "text"),
    [
        ("key", "monkey"),
        ("C", "written in C#"),
        ("京都", "北京"),
        ("where is the key?", "where is it?"),
        ("", "key"),
        ("key", ""),
        ("?!", "key"),
        ('"', '"'),
    ],
)
def test_another_word_is_not(query, text):
    assert not MatchedWords(query).are_in(text)
