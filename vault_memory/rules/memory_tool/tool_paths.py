"""Names below `/memories`, as a model writes them, and the notes they stand for. Nothing else has a name there.

A note is Markdown, so that people and search read it: `/memories/todo.txt` is kept as `todo.txt.md`, and shown under
the name that the model gave it.
"""

import re
import unicodedata

from vault_memory.errors import BadPath
from vault_memory.rules.paths.filenames import awkward, inside, unquoted

ROOT = "/memories"
ENDING = ".md"
LONGEST = 200
"""Bytes of one part of a new name: its audit and its conflict copies have longer ones"""
LONGEST_PATH = 2_000
"""Letters of a whole name"""
DEEPEST = 16
_ROUNDS = 6
_TEXTS = frozenset(
    "cfg conf csv htm html ini js json log markdown org py rst sh sql tex text toml ts tsv txt xml yaml yml".split()
)
"""Endings under which a note is shown without its own"""
_LIKE_A_SLASH = re.compile(
    "[\u2044\u2215\u29f8\u2571\u29f9\u27cb\u27cd\u2572\ufe68\u29f5\u3033\u3035]"
)


def relative(path: str) -> str:
    """What stands after `/memories/`; empty for the folder itself. Raises BadPath for what leads elsewhere or could."""
    if path in (ROOT, ROOT + "/"):
        return ""
    if not path.startswith(ROOT + "/"):
        raise BadPath(path, "it does not begin with /memories/")
    rest = path[len(ROOT) + 1 :].removesuffix("/")
    if len(rest) > LONGEST_PATH:
        raise BadPath(path[:LONGEST] + "…", "it is too long")
    _check_forms(path, rest)
    if _LIKE_A_SLASH.search(rest):
        raise BadPath(path, "a mark in it looks like a slash")
    return rest


def _check_forms(path: str, rest: str) -> None:
    """Look at the name, and at what others may take it for: percent signs decoded, letters in their plain form."""
    seen, fresh = set[str](), {rest}
    for _ in range(_ROUNDS):
        for form in fresh:
            inside(form)
            if form.count("/") != rest.count("/") or any(
                part.startswith(".") for part in form.split("/")
            ):
                raise BadPath(path, "it is spelt so that it could lead elsewhere")
        seen |= fresh
        fresh = {
            other
            for form in fresh
            for other in (unquoted(form), unicodedata.normalize("NFKC", form))
        } - seen
        if not fresh:
            return
    raise BadPath(path, "it is encoded again and again")


def check_new(rest: str) -> None:
    """Raise BadPath for a name that a new note should not have."""
    parts = rest.split("/")
    if rest.endswith(".jsonl"):
        raise BadPath(rest, "logs are named so")
    if len(parts) > DEEPEST:
        raise BadPath(rest, f"it lies more than {DEEPEST} folders deep")
    for part in parts:
        reason = awkward(part) or (
            "it is too long" if len(part.encode()) > LONGEST else ""
        )
        if reason:
            raise BadPath(rest, reason)


def note_name(rest: str) -> str:
    """The name of the note that a name below `/memories` stands for."""
    return rest if rest.endswith(ENDING) else rest + ENDING


def shown_name(name: str) -> str:
    """The name that a model sees of a note."""
    bare = name.removesuffix(ENDING)
    stem, _, ending = bare.rpartition(".")
    return (
        bare if stem and not stem.endswith("/") and ending.lower() in _TEXTS else name
    )
