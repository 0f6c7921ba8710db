"""Which stored versions may be the common text of a note and its conflict copy."""

from tests.every import every
from vault_memory.edits.plans.copy_ancestors import Bases, lines_of, possible_bases


def text(letters: str) -> bytes:
    return "".join(f"{letter}\n" for letter in letters).encode()


def bases(note: str, copy: str, *newest_first: str) -> Bases:
    return possible_bases(text(note), text(copy), [(raw, text(raw)) for raw in newest_first])


def names(found: Bases) -> list[str]:
    return [revision for revision, _ in found.versions]


@every(
    ("note", "copy", "versions", "possible"),
    [
        ("abx", "aby", ["abx", "ab"], ["ab"]),
        ("abx", "aby", ["ab", "a"], ["ab"]),
        ("abx", "ay", ["abx", "ab", "a"], ["a"]),
        ("abx", "aby", [], []),
        ("abx", "aby", ["abx", "aby"], []),
        ("abcx", "aby", ["abc", "ab", "abq"], ["abq", "ab"]),
        ("acz", "aby", ["acz", "aby", "ab", "a"], ["a"]),
    ],
)
def test_a_version_is_a_base_unless_the_two_texts_speak_against_it(
    note: str, copy: str, versions: list[str], possible: list[str]
) -> None:
    assert names(bases(note, copy, *versions)) == possible


def test_a_text_older_than_all_versions_is_possible_until_the_oldest_is_ruled_out() -> None:
    found = bases("abcx", "aby", "abcx", "abc")
    assert (names(found), found.older) == (["abc"], text("ab"))
    whole = bases("abcx", "abcy", "abcx", "abc")
    assert (names(whole), whole.older) == (["abc"], None)
    ruled_out = bases("abcx", "abcy", "abcx", "abc", "a")
    assert (names(ruled_out), ruled_out.older) == (["abc"], None)


def test_lines_are_counted_without_blanks_ends_and_byte_order_mark() -> None:
    raw = b"\xef\xbb\xbfa\r\n\n  \na  \n a\nb"

    assert lines_of(raw) == {b"a": 2, b" a": 1, b"b": 1}


def test_a_line_that_stands_twice_is_two_lines() -> None:
    assert names(bases("aabx", "aby", "aabx", "aab", "ab")) == ["ab"]
    found = possible_bases(b"a\na\nx\n", b"a\ny\n", [("1", b"a\na\n")])
    assert found.older == b"a\n"
