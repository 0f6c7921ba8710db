"""Names with signs are words of their own, and one word is found however it is divided."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.every import every
from tests.search.library import NOW, library
from vault_memory.rules.search import tokens
from vault_memory.search.query import SearchQuery, search

SCOPE = "user:ann"
SUBJECTS = {
    "C": "- Lea writes the driver in C\n",
    "C++": "- Olu writes the driver in C++\n",
    "C#": "- Ida writes the driver in C#\n",
    "F#": "- Ben writes the driver in F#\n",
    "F": "- Eva got an F for the driver\n",
    "R": "- Kim writes the driver in R\n",
    "A*": "- Nils finds the way for the driver with A* and maps\n",
    "A": "- Tove took vitamin A and a map for the driver\n",
    ".NET": "- Pia writes the driver for .NET\n",
    "net": "- Sven mends the fishing net of the driver\n",
    "g++": "- Ulf builds the driver by g++\n",
    "Notepad++": "- Vera opens the driver in Notepad++\n",
}


def first_lines(notes: dict[str, str], query: str) -> list[str]:
    index = library({(SCOPE, path): text for path, text in notes.items()}, embedded=False)
    question = SearchQuery(query, [SCOPE], NOW, mode="keyword")
    return [hit.note for hit in search(index, question).hits]


@pytest.mark.sampled
@every("query", ["{}", "who uses {}?", "does anyone know {}", "{} driver", "wer kann {}"])
@every("name", ["C", "C++", "C#", "F#", "R", "A*", ".NET"])
def test_a_name_with_a_sign_or_of_one_letter_is_found_first(name, query):
    assert first_lines(SUBJECTS, query.format(name))[0] == name


@every(
    ("query", "name"),
    [
        ("c#", "C#"),
        ("C\uff03", "C#"),
        ("Ｃ＋＋", "C++"),
        ("c++17", "C++"),
        ("C#,", "C#"),
        ("(.net)", ".NET"),
        ("g++", "g++"),
        ("notepad++", "Notepad++"),
        ("notepad", "Notepad++"),
        ("fishing net", "net"),
    ],
)
def test_a_name_is_found_in_each_way_to_write_it(query, name):
    assert first_lines(SUBJECTS, query)[0] == name


@every(
    ("note", "query"),
    [
        ("The driver is in C\\#\n", "C#"),
        ("It was ported to **C#**\n", "C#"),
        ("A\\* and Dijkstra\n", "A*"),
        ("[[C++]] for all\n", "C++"),
        ("`C++`, `C`\n", "C++"),
        ("C/C++ only\n", "C++"),
        ("C/C++ only\n", "C"),
        ("для C# и F#\n", "F#"),
        ("用C++写\n", "C++"),
    ],
)
def test_a_name_is_found_beside_markup_and_other_scripts(note, query):
    notes = {"it": note, "other": "Nothing of the kind, a plain line with c\n"}

    assert first_lines(notes, query)[0] == "it"


@every("text", ["*Vitamin A*", "**see A**", "*a* b", "a *b c*", "2 * 3", "issue#5 is", "...and so"])
def test_marks_of_emphasis_and_of_tags_are_no_part_of_a_word(text):
    assert not any("sign" in word for word in tokens.words(text) if word != "sign")


NUMBERS = [
    (
        "+49 461 123 45 67",
        [
            "+494611234567",
            "+49 (461) 1234567",
            "0049 461 12345 67",
            "0461/1234567",
            "+49-461-123-4567",
            "0461 / 123 45 67",
        ],
    ),
    ("+494611234567", ["+49 461 123 45 67", "+49 (0) 461 1234567"]),
    ("0461/1234567", ["+49 461 1234567", "04611234567", "0461 123 4567"]),
    ("978-3-16-148410-0", ["9783161484100", "978 3161484100", "978 3 16 148410 0"]),
    ("3-16-148410-X", ["316148410X", "3 16 148410 x"]),
    (
        "DE89 3704 0044 0532 0130 00",
        [
            "DE89370400440532013000",
            "de89 370400440532013000",
            "DE89-3704-0044-0532-0130-00",
            "DE 89 3704 0044 0532 0130 00",
        ],
    ),
    ("GB29NWBK60161331926819", ["GB29 NWBK 6016 1331 9268 19"]),
    ("GB29 NWBK 6016 1331 9268 19", ["GB29NWBK60161331926819"]),
]


@every(
    ("written", "asked"),
    [(written, asked) for written, all_asked in NUMBERS for asked in all_asked],
)
def test_a_number_is_found_in_any_grouping(written, asked):
    notes = {
        "it": f"- The number is {written}.\n",
        "near": "- Other numbers: 49 461 99, 123 45 88, DE89 3704, 978 3 16, 3704 0044, NWBK 6016\n",
        "far": "- Bakers need 12 loaves and 45 eggs\n",
    }

    assert first_lines(notes, f"whose number is {asked}?")[0] == "it"


WORDS = [
    ("The re-index runs at night", "reindex"),
    ("Reindex the archive", "re-index"),
    ("Reindex the archive", "re–index"),
    ("I don't mind", "dont"),
    ("I dont mind", "don't"),
    ("I dont mind", "don’t"),
    ("the e-mail of Monday", "email"),
    ("the email of Monday", "e-mail"),
    ("an up-to-date list", "uptodate"),
    ("Mr O'Brien came", "obrien"),
    ("Mr OBrien came", "O'Brien"),
    ("die E-Mail vom Montag", "Email"),
    ("кто-нибудь видел", "ктонибудь"),
]


@every(("written", "asked"), WORDS)
def test_a_word_is_found_with_and_without_its_hyphen_or_apostrophe(written, asked):
    notes = {"it": f"- {written}\n", "other": "- The index of all letters, by name\n"}

    assert first_lines(notes, asked)[0] == "it"


def test_a_divided_word_still_finds_its_parts():
    notes = {"it": "- The lamp stands in the room\n", "other": "- A lamp-room has stairs\n"}

    assert set(first_lines(notes, "lamp-room")) == {"it", "other"}


@every("query", ["what don't you like", "isn't it", "don't", "he's up-to-date"])
def test_a_divided_stop_word_does_not_disturb_a_query(query):
    notes = {"it": "- I dont like figs, it isnt so\n", "other": "- An uptodate list\n"}

    assert first_lines(notes, query) is not None


def test_a_date_is_no_number_in_groups():
    assert not tokens.compounds_of("on 2026-05-04, 4.5.2026 and 4/5/2026")


@given(st.text("0123456789 -/.()+abAB'#*", max_size=60))
@example("1 " * 40)
def test_the_compounds_of_a_text_are_words(text):
    for compound, components in tokens.compounds_of(tokens.normalise(text)).items():
        assert compound.isalnum()
        assert components
        assert len(compound) <= tokens.LONGEST_TERM
