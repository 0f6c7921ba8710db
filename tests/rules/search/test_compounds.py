"""A divided word or number is found by its form in one piece."""

from tests.every import every
from vault_memory.rules.search import compounds


@every(
    ("text", "joined"),
    [
        ("re-index it", {"reindex": ("re", "index")}),
        ("Re-Index", {"reindex": ("re", "index")}),
        ("state-of-the-art", {"stateoftheart": ("state", "of", "the", "art")}),
        ("rock'n'roll", {"rocknroll": ("rock", "n", "roll")}),
        ("the boat's mast", {}),
        ("we'll see", {}),
        ("the re-index's end", {"reindex": ("re", "index")}),
        ("l'avant-garde", {"avantgarde": ("avant", "garde")}),
        ("d'accord", {}),
        ("12-13", {}),
        ("a-b a-b", {"ab": ("a", "b")}),
        ("-a b-", {}),
        ("_a-b", {"ab": ("a", "b")}),
        ("plain words", {}),
    ],
)
def test_a_word_is_joined_without_hyphens_and_with_its_ending_cut(
    text: str, joined: dict[str, tuple[str, ...]]
) -> None:
    assert compounds.of(text) == joined


def test_a_word_that_no_term_holds_is_left_out() -> None:
    half = "a" * (compounds.LONGEST_TERM // 2)

    assert compounds.of(f"{half}-{half}")
    assert not compounds.of(f"{half}-{half}b")


@every(
    ("text", "forms"),
    [
        ("0461 / 123 45", {"46112345"}),
        ("(0461) 123 45", {"46112345"}),
        ("+49 (0) 461 12345", {"4946112345", "46112345"}),
        ("ISBN 3-16-148410-X", {"316148410x", "16148410x"}),
        ("DE89 3704 0044 0532", {"de89370400440532", "370400440532"}),
        ("1.234.567", {"1234567"}),
    ],
)
def test_a_number_in_groups_is_found_whole_and_as_it_is_dialled_nearby(
    text: str, forms: set[str]
) -> None:
    assert compounds.of(text).keys() == forms


@every(
    "text",
    [
        "2026-04-01",
        "1.4.2026 and 31/12/2026",
        "12 34",
        "4 apples, 55 pears",
        "1234567",
        "123     4567",
    ],
)
def test_days_short_numbers_and_numbers_in_one_piece_have_no_other_form(text: str) -> None:
    assert compounds.of(text) == {}


def test_two_numbers_with_a_stroke_between_blanks_are_two() -> None:
    forms = compounds.of("12 34 567 / 89 01 234")

    assert {"1234567", "8901234"} <= forms.keys()
    assert "12345678901234" not in forms


def test_the_groups_of_a_number_are_kept_with_each_form() -> None:
    assert compounds.of("0461 123-45")["46112345"] == ("0461", "123", "45")
