"""Maps names below `/memories`, as a model writes them, to notes. No other file has such a name.

A note is Markdown, so that people and search can read it: `/memories/todo.txt` is stored as
`todo.txt.md`, and the model sees it under its own name.
"""

import re
import unicodedata

from vault_memory.errors import BadPath
from vault_memory.rules.paths.filenames import awkward, inside, unquoted

ROOT = "/memories"
ENDING = ".md"
LONGEST = 200
"""Bytes of a segment of a new name; its audit and its conflict copies have longer names"""
LONGEST_PATH = 2_000
"""Letters of a complete name"""
DEEPEST = 16
_ROUNDS = 6
_TEXTS = frozenset(
    "cfg conf csv htm html ini js json log markdown org py rst sh sql tex text toml ts tsv txt xml yaml yml".split()
)
"""Extensions of text files; a note with one is shown without `.md`"""
_LIKE_A_SLASH = re.compile(
    "[\u2044\u2215\u29f8\u2571\u29f9\u27cb\u27cd\u2572\ufe68\u29f5\u3033\u3035]"
)


def relative(path: str) -> str:
    """Returns the path below `/memories`; ``""`` for the folder itself.

    Raises BadPath for a path that leads elsewhere, or that another program could read so.
    """
    if path in (ROOT, ROOT + "/"):
        return ""
    if not path.startswith(ROOT + "/"):
        raise BadPath(path, "it does not begin with /memories/")
    name = path[len(ROOT) + 1 :].removesuffix("/")
    if len(name) > LONGEST_PATH:
        raise BadPath(path[:LONGEST] + "…", "it is too long")
    _check_spellings(path, name)
    if _LIKE_A_SLASH.search(name):
        raise BadPath(path, "a mark in it looks like a slash")
    return name


def _check_spellings(path: str, name: str) -> None:
    """Checks a name, and the names that other programs may read: decoded, or in plain letters."""
    checked: set[str] = set()
    spellings = {name}
    # Percent signs can be encoded again, so each spelling may have further ones.
    for _ in range(_ROUNDS):
        for spelling in spellings:
            _check_spelling(path, name, spelling)
        checked |= spellings
        decoded = set(map(unquoted, spellings))
        composed = {unicodedata.normalize("NFKC", spelling) for spelling in spellings}
        spellings = (decoded | composed) - checked
        if not spellings:
            return
    raise BadPath(path, "it is encoded again and again")


def _check_spelling(path: str, name: str, spelling: str) -> None:
    inside(spelling)
    has_dot_segment = spelling.startswith(".") or "/." in spelling
    if has_dot_segment or spelling.count("/") != name.count("/"):
        raise BadPath(path, "it is spelt so that it could lead elsewhere")


def check_new(name: str) -> None:
    """Raises BadPath for a name that a new note should not have."""
    segments = name.split("/")
    if name.endswith(".jsonl"):
        raise BadPath(name, "logs are named so")
    if len(segments) > DEEPEST:
        raise BadPath(name, f"it lies more than {DEEPEST} folders deep")
    for segment in segments:
        reason = awkward(segment)
        if not reason and len(segment.encode()) > LONGEST:
            reason = "it is too long"
        if reason:
            raise BadPath(name, reason)


def note_name(name: str) -> str:
    """Returns the note for a name below `/memories`."""
    return name if name.endswith(ENDING) else name + ENDING


def shown_name(note: str) -> str:
    """Returns the name under which a model sees a note."""
    bare = note.removesuffix(ENDING)
    stem, _, extension = bare.rpartition(".")
    if not stem or stem.endswith("/"):
        return note
    return bare if extension.lower() in _TEXTS else note
