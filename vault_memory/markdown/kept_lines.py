"""Compares two texts by their lines: how much of an old note does a new one have?"""

from collections import Counter

from vault_memory.markdown.document import SectionedDoc, parse
from vault_memory.markdown.items import normalised

RENAMED_SHARE = 0.5
"""The share of its lines that a note keeps when it is renamed and edited"""


def line_counts(raw: bytes) -> Counter[str]:
    """Return the lines of all sections, normalised, without headings and empty lines."""
    return _lines(parse(raw))


def share_kept(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of the lines of an old text that a new one has."""
    return (old & new).total() / max(1, old.total())


def _lines(doc: SectionedDoc) -> Counter[str]:
    counts: Counter[str] = Counter()
    for body in (doc.preamble, *(section.body for section in doc.sections)):
        counts += normalised_lines(body)
    return counts


def normalised_lines(raw: bytes) -> Counter[str]:
    """Return the lines of some text, normalised, without empty ones."""
    texts = map(normalised, raw.decode("utf-8", "replace").splitlines())
    return Counter(filter(None, texts))
