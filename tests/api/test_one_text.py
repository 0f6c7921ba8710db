"""One text in other code points is one text: for search, ops, duplicates, the night and forget."""

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from tests.markdown.alike import ALIKE, DIFFERENT
from vault_memory import VaultMemory
from vault_memory.config import Config, EmbeddingSettings
from vault_memory.markdown.document import parse
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.ops import Append, Remove
from vault_memory.rules.forgetting.matcher import TextMatcher
from vault_memory.rules.learning.twins import TwinIndex
from vault_memory.rules.search.tokens import terms, words

SCOPES = ["user:main"]
PAIRS = [*ALIKE, *((second, first) for first, second in ALIKE)]
"""(what a note has, what somebody asks for)"""


def note_of(number: int) -> str:
    return f"Users/main/memories/n{number:03}.md"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultMemory]:
    """A vault with a note for each pair."""
    folder = tmp_path_factory.mktemp("one-text")
    root = folder / "vault"
    for number, (written, _) in enumerate(PAIRS):
        note = root / note_of(number)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"## Lines\n\n- {written}\n", encoding="utf-8")
    config = Config(embedding=EmbeddingSettings(kind="off"))
    state = {"VAULT_MEMORY_STATE": str(folder / "state")}
    with VaultMemory.open(root, config, environment=state) as memory:
        memory.index()
        yield memory


def outcomes(memory: VaultMemory, number: int, op: dict[str, str]) -> list[str]:
    edit = memory.apply(note_of(number), [op], source="cli", dry_run=True)
    return [applied.outcome for applied in edit.applied]


def test_search_finds_a_text_in_other_code_points(memory: VaultMemory):
    missed = []
    for number, (written, asked) in enumerate(PAIRS):
        hits = memory.search(asked, scopes=SCOPES, limit=100, copies=True).hits
        if note_of(number) not in {hit.note for hit in hits}:
            missed.append((written, asked))
    assert missed == []


def test_an_op_finds_its_item_in_other_code_points(memory: VaultMemory):
    missed = []
    for number, (written, asked) in enumerate(PAIRS):
        op = {"op": "remove", "heading": "Lines", "match": asked}
        if outcomes(memory, number, op) != ["applied"]:
            missed.append((written, asked))
    assert missed == []


def test_a_line_in_other_code_points_is_not_written_twice(memory: VaultMemory):
    written_twice = []
    for number, (written, asked) in enumerate(PAIRS):
        op = {"op": "append", "heading": "Lines", "line": asked}
        if outcomes(memory, number, op) != ["noop_dup"]:
            written_twice.append((written, asked))
    assert written_twice == []


def test_the_night_takes_a_line_in_other_code_points_for_the_same():
    missed = []
    for written, asked in PAIRS:
        found = TwinIndex([written]).find(asked)
        if found is None or found.relation != "same":
            missed.append((written, asked))
    assert missed == []


@pytest.mark.sampled
def test_forget_finds_a_text_in_other_code_points(memory: VaultMemory):
    missed = []
    for number, (written, asked) in enumerate(PAIRS):
        found = memory.forget(asked, scopes=SCOPES, dry_run=True)
        notes = {removed.place for removed in found.removed}
        if note_of(number) not in notes:
            missed.append((written, asked))
    assert missed == []


@every(("first", "second"), DIFFERENT)
def test_a_line_that_looks_different_is_no_duplicate(first: str, second: str):
    note = parse(f"## Lines\n\n- {first}\n".encode())
    [applied] = apply_ops(note, [Append("Lines", second)]).applied
    assert applied.outcome == "applied"


def test_words_without_a_visible_letter_name_no_item():
    note = parse(b"## Lines\n\n- one\n- ![](a.png)\n")
    for match in ("\u200b", "\u00ad", "![](b.png)", "[](x)"):
        [result] = apply_ops(note, [Remove("Lines", match)]).applied
        assert result.outcome == "noop_no_match"


def test_an_item_as_it_is_written_comes_before_one_that_looks_like_it():
    note = parse(b"## Lines\n\n- [[Anna]] likes tea\n- Anna likes coffee\n")
    [result] = apply_ops(note, [Remove("Lines", "[[Anna]] likes")]).applied
    assert result.removed == b"- [[Anna]] likes tea\n"


# --- A property -------------------------------------------------------------------------------

WORDS = [
    "Zoë", "kräuter", "office", "Anna's", "ガラス", "한글", "Œuvre", "Fluß", "naïve", "Łódź", "Ørsted",
    "garden", "2026", "Σίσυφος", "привет", "शक्ति", "🎉", "tea - cake",
]  # fmt: skip
QUOTES = {"'": "’‘ʼ", "-": "–—‐", '"': "“”„"}


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text)


def typographic(text: str) -> str:
    return "".join(QUOTES.get(sign, sign)[0] for sign in text)


def in_pieces(sign: str):
    def apart(text: str) -> str:
        return text[:1] + sign + text[1:]

    return apart


LETTERS = {
    "as it is": str,
    "another normal form": lambda text: unicodedata.normalize("NFD", text),
    "wide letters": wide,
    "typographic signs": typographic,
    "a soft hyphen": in_pieces("\u00ad"),
    "a blank of no width": in_pieces("\u200b"),
    "a word joiner": in_pieces("\u2060"),
    "a direction": lambda text: f"\u2068{text}\u2069",
    "capitals": str.upper,
}
"""Other code points for a word"""
MARKUP = {
    "plain": str,
    "strong": lambda text: f"**{text}**",
    "emphasis": lambda text: f"_{text}_",
    "code": lambda text: f"`{text}`",
    "a highlight": lambda text: f"=={text}==",
    "a link to a note": lambda text: f"[[Elsewhere|{text}]]",
    "a link": lambda text: f"[{text}](https://example.org)",
}
"""Signs around a word that a reader does not see"""


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """Two spellings of one text: plain, and with disguises of each word."""
    plain = draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=4))
    letters = st.sampled_from(sorted(LETTERS))
    markup = st.sampled_from(sorted(MARKUP))
    written = [MARKUP[draw(markup)](LETTERS[draw(letters)](word)) for word in plain]
    return f"see {' '.join(plain)} there", f"see {' '.join(written)} there"


@given(disguised())
def test_whatever_is_equal_for_the_eye_is_found_by_all_four(pair: tuple[str, str]):
    for written, asked in (pair, pair[::-1]):
        assert set(terms(asked)) & set(words(written))
        note = parse(f"## Lines\n\n- {written}\n".encode())
        [removed] = apply_ops(note, [Remove("Lines", asked)]).applied
        assert removed.outcome == "applied"
        [appended] = apply_ops(note, [Append("Lines", asked)]).applied
        assert appended.outcome == "noop_dup"
        assert TextMatcher.of(asked).spans(written)
