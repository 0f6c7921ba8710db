"""Finds chunks that are copies of one statement, so that a search shows it once. Pure.

A search compares hundreds of chunks. So a cheap fingerprint finds those that may be copies, and only
they are compared exactly.
"""

import string
from functools import lru_cache
from typing import NamedTuple

from vault_memory.markdown import items
from vault_memory.rules.claims import equivalence
from vault_memory.rules.conversations.statements import without_speaker
from vault_memory.rules.search.tokens import words

FEWEST_WORDS = 4
"""A shorter text means something only below its heading"""
CACHED = 512
"""Chunks whose fingerprint is cached: each hit is compared twice"""
BEGINNING = 3
"""Letters of a fingerprint by which most of them differ"""
SUBJECT_KINDS = frozenset({"facts"})
"""Kinds of notes whose headings say what an item is about"""

_SMILEYS = (*range(0x2600, 0x27C0), 0xFE0F, 0x200D, *range(0x1F000, 0x1FB00))
_IGNORED = dict.fromkeys(
    (*map(ord, string.punctuation + string.whitespace + "。，、！？：；’"), *_SMILEYS)
)
_QUOTE = ' — "'
_SPEAKER = ("**", "- **")


class CopyKey(NamedTuple):
    """Chunks with the same key are copies of one statement."""

    scope: str
    bare: str
    """the text without speaker, type, quote, metadata, case and punctuation"""
    speaker: str
    heading: str
    day: str


@lru_cache(maxsize=CACHED)
def fingerprint(chunk: str) -> str:
    """Returns letters that copies share; other chunks may share them, too."""
    text = chunk.strip("-*+ \t\n")
    if text.endswith(")"):
        text = text.rpartition(" (")[0] or text
    text = text.partition(_QUOTE)[0]
    if text.startswith("["):
        text = text.partition("]")[2]
    elif chunk.startswith(_SPEAKER):
        text = text.partition("**:")[2] or text
    return text.casefold().translate(_IGNORED)


def may_begin_with(chunk: str, beginnings: frozenset[str]) -> bool:
    """Returns whether the fingerprint of a chunk may begin so; cheaper than the fingerprint."""
    text = chunk.strip("-*+ \t\n")
    beginning = text[:BEGINNING]
    # Fault: a type or a speaker comes before the letters that count.
    is_plain = beginning.isalnum() and not chunk.startswith(_SPEAKER)
    return not is_plain or beginning.casefold()[:BEGINNING] in beginnings


def copy_key(chunk: str, *, scope: str, kind: str, heading: str, day: str | None) -> CopyKey:
    """Returns the key of a chunk at its place."""
    plain = without_speaker(chunk)
    speaker = chunk[: len(chunk) - len(plain)].strip("-+*: \t\n").casefold()
    # In a person's own notes, a line without a speaker is of that person.
    is_owner = speaker == scope.partition(":")[2].casefold()
    # Further lines are nested items or paragraphs, and count.
    is_one_line = "\n" not in plain.strip()
    text = items.parse_item(plain).text if is_one_line else plain
    bare = equivalence.bare_statement(text)
    has_heading = kind in SUBJECT_KINDS or len(words(bare)) < FEWEST_WORDS
    return CopyKey(
        scope,
        bare,
        "" if is_owner else speaker,
        heading if has_heading else "",
        (day or "") if equivalence.is_relative(text) else "",
    )
