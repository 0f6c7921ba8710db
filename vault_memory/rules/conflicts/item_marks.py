"""Changes the metadata of an item; its words stay as they are. Pure."""

import re

from vault_memory.markdown.items import read_metadata

_WORDS = re.compile(r"(?s)(.*?)((?:\s+\^[A-Za-z0-9-]+)?)")
"""The words of an item, and its block id"""
_TRAILING = re.compile(r"(?:^|[ \t])\(([^()]*)\)$")


def with_marks(text: str, **marks: str | None) -> str:
    """Returns an item's text with these marks; None removes one.

    The other marks keep their order. Brackets that are a person's words stay words.
    """
    match = _WORDS.fullmatch(text)
    assert match is not None, "a block id may be absent"
    words, suffix = match.groups()
    trailing = _TRAILING.search(words)
    parts: list[str] = []
    if trailing and read_metadata(trailing[1])[0]:
        parts = list(map(str.strip, trailing[1].split(",")))
        words = words[: trailing.start()].rstrip()
    kept = [part for part in parts if part.partition(":")[0] not in marks]
    new = [f"{key}:{value}" for key, value in marks.items() if value is not None]
    metadata = ", ".join((*kept, *new))
    return f"{words} ({metadata}){suffix}" if metadata else words + suffix
