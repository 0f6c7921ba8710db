"""The form of a secret is recognised, and what has another meaning is not; a turn is shown without it."""

import json

from tests.every import every
from vault_memory.rules.learning.policy import code_words, secret_signs
from vault_memory.rules.learning.policy.secret_signs import MASK, has_format, has_sign, is_same


@every(
    "text",
    [
        "use sk-ant-abcdefghijklmnop1234 now",
        "ghp_abcdefghijklmnopqrst1234",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-1234567890-abc",
        "eyJhbGciOiJI.eyJzdWIiOiIx.abc",
        "-----BEGIN RSA PRIVATE KEY-----",
        "https://mira:quayfish@example.org/x",
        "card 4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "IBAN DE89 3704 0044 0532 0130 00 please",
        "GB82WEST12345698765432",
    ],
)
def test_a_key_a_card_an_account_and_an_address_with_a_password_have_a_form(text: str) -> None:
    assert has_format(text)
    assert has_sign(text)


@every(
    "text",
    [
        "sk-short",
        "task-abcdefghijklmnop1234",
        "https://example.org/a:b",
        "https://mira@example.org",
        "4111 1111 1111 1112",
        "1111 1111 1111 1117",
        "the number 123456789012",
        "DE88 3704 0044 0532 0130 00",
        "2026-05-25 18:40",
    ],
)
def test_other_numbers_and_addresses_have_none(text: str) -> None:
    assert not has_format(text)


def test_a_line_of_a_key_and_a_cue_are_signs_and_a_plain_text_has_none() -> None:
    assert has_sign("A" * 60)
    assert not has_sign("A" * 59)
    assert has_sign("my password is quayfish")
    assert has_sign("the code for the garage is 4417")
    assert not has_sign("The tent is green and the sea is calm.")


def is_secret(sentence: str) -> bool:
    return "quayfish" in sentence


@every(
    ("text", "shown"),
    [
        ("Hello. My password is quayfish. Bye.", f"Hello. {MASK} Bye."),
        ("Nothing here.", "Nothing here."),
        ("It is quayfish.", MASK),
        (
            "Take this:\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nand go.",
            f"Take this:\n{MASK}\nand go.",
        ),
        ("x\n-----BEGIN PRIVATE KEY-----\nabc", f"x\n{MASK}"),
    ],
)
def test_the_sentence_with_a_secret_is_left_out_and_the_others_stay(text: str, shown: str) -> None:
    assert secret_signs.masked(text, is_secret) == shown
    assert is_same(shown, text)


def test_a_secret_over_two_sentences_hides_the_turn() -> None:
    def over_two(text: str) -> bool:
        return "password" in text and "quay" in text

    assert secret_signs.masked("The password. It is quay.", over_two) == MASK


def test_lines_of_a_transcript_keep_all_but_the_secret() -> None:
    plain = json.dumps({"id": "1", "text": "Hello."}) + "\n"
    secret = json.dumps({"id": "2", "text": "Hi. It is quayfish."}) + "\n"
    torn = '{"text": "It is quayfish'

    first, second, third = secret_signs.masked_lines(plain + secret + torn, is_secret).splitlines(
        keepends=True
    )

    assert first == plain
    assert json.loads(second) == {"id": "2", "text": f"Hi. {MASK}"}
    assert third == MASK


@every(
    ("recorded", "text", "same"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        (f"a {MASK} b", "a secret b", True),
        (f"a {MASK} b {MASK}", "a x b y", True),
        (f"a {MASK} b", "c secret b", False),
        (f"a {MASK} b", "a secret c", False),
        (f"a{MASK}b{MASK}a", "ab a", True),
        (f"ab{MASK}ba", "aba", False),
        (f"a{MASK}x{MASK}b", "a y b", False),
    ],
)
def test_a_recorded_turn_is_compared_without_its_secrets(
    recorded: str, text: str, same: bool
) -> None:
    assert is_same(recorded, text) is same


COPULAS, CHANGES, FILLINGS = ("is", "\u662f"), ("to",), ("now", "please", "for", "the")


def tells(text: str) -> bool:
    return code_words.tells(code_words.fold(text), COPULAS, CHANGES, FILLINGS)


@every(
    "text",
    [
        "The code for the garage is 4417",
        "The garage code is 44 17",
        "The door code is four four one seven",
        "We changed the door code to 4417 now.",
        "The alarm of the boathouse is 4417#",
        "Press 4417# at the gate",
        "router login: admin / quayfish",
        "admin/quayfish for the router login",
        "The router user admin pass quayfish",
    ],
)
def test_the_number_of_a_door_and_a_name_with_its_password_are_told(text: str) -> None:
    assert tells(text)


@every(
    "text",
    [
        "The error code is 4041",
        "The code review is at 4",
        "The door is 2000 mm wide",
        "The door code was changed in 2019",
        "Issue #4417 is open",
        "and / or for the router login page",
        "The garage is 44 years old",
        "The tent is green",
    ],
)
def test_other_codes_numbers_and_pairs_are_not(text: str) -> None:
    assert not tells(text)


@every(
    ("text", "digits"),
    [
        ("four four one seven", "4417"),
        ("it is four, four, one now", "it is 441 now"),
        ("four one", "four one"),
        ("fourteen four four one", "fourteen 441"),
    ],
)
def test_dictated_digits_are_a_number_from_three_on(text: str, digits: str) -> None:
    assert code_words.with_digits(text) == digits


def test_texts_are_folded_as_phrases_are_compared() -> None:
    assert code_words.fold("It\u2019s \uff21 \u0401 \U0001f602") == "it's a \u0435  haha "
    assert code_words.fold("ABC") == "abc"
