"""Names of conflict copies: what sync programs, and we, call a text that could not be put under its own name.

A copy's name tells what it is a copy of, who made it, and mostly when. Copies of copies are known too. Pure; any name
is answered, none is an error.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Literal, NamedTuple

_WORDS = ("conflict", "memory copy", "clash")
"""One of them stands in each mark that is certain: a name without is passed over quickly"""

_BRACKETS = (
    ("vault-memory", r"memory copy\b.*"),
    ("Unison", r"conflict #\d+(?:[ _]on[ _].*)?"),
    ("Seafile", r"SFConflict\b.*"),
    ("Obsidian Sync", r"conflicted copy .*\b\d{12}"),
    ("Dropbox", r".*['’]s conflicted copy\b.*"),
    ("Nextcloud", r"conflicted copy .*\b\d{4}-\d{2}-\d{2} \d{6}"),
    ("a sync program", r"(?:.*\b)?(?:conflicted|conflict) copy\b.*"),
)
_CLASHES = r"(?:case|unicode) (?:clash|conflict)\b.*"
_ENDINGS = (
    ("Syncthing", r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"),
    ("ownCloud", r"[._]conflict-(?:[^-./]{1,64}-)?\d{8}-\d{6}"),
    ("rclone", r"\.conflict\d+"),
)
_COUNTED = r"(?s)(.*\S) ?(?: \d{1,3}|\(\d{1,3}\))"
_WHEN = r"(\d{4})-?(\d{2})-?(\d{2})(?:[ T_-]?(\d{2})[.:]?(\d{2})[.:]?(\d{2})?)?(?!\d)"


class CopyName(NamedTuple):
    """What the name of a copy says."""

    original: str
    """the name that the text should have had; of a copy of a copy the first one's"""
    program: str
    kind: Literal["conflict", "clash", "guess"]
    """`clash`: of two names that one file system could not hold; `guess`: only a number tells it, as in `a (1).md`"""
    stamp: str = ""
    """when it was made, as far as the name says: ``2026-11-21`` or ``2026-11-21 20:33:12``"""


def conflict_copy(name: str) -> str | None:
    """The name this is a conflict copy of (``USER (conflicted copy …).md`` gives ``USER.md``), or None."""
    folded = name.lower()
    if not any(word in folded for word in _WORDS):
        return None
    found = copy_of(name)
    return found.original if found else None


def copy_of(name: str, beside: Container[str] = ()) -> CopyName | None:
    """What the name of a conflict copy says; None when it is none.

    A name that differs from another only by a number is taken for a copy where that other name is among `beside`.
    """
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    first, rest = None, stem
    while mark := _mark(rest):
        rest, first = mark[0], first or mark
    if first is None:
        return _guess(stem, dot + ending, beside)
    original = rest + dot + ending
    if not rest or original.startswith("."):
        return None
    return CopyName(original, first[1], first[2], _stamp(first[3]))


def named_copies(
    paths: Iterable[str], is_known: Callable[[str], object]
) -> Iterator[tuple[str, CopyName]]:
    """The conflict copies among these paths, as far as `is_known` says that their originals are ours."""
    for path in paths:
        name = copy_of(path.rpartition("/")[2])
        if name is not None and is_known(original_path(path, name)):
            yield path, name


def original_path(path: str, name: CopyName) -> str:
    """Where the text of this copy should have been."""
    folder, slash, _ = path.rpartition("/")
    return folder + slash + name.original


def _mark(stem: str) -> tuple[str, str, Literal["conflict", "clash"], str] | None:
    """The stem without its last mark, whose mark that is, its kind, and its text."""
    counted = re.fullmatch(_COUNTED, stem)
    if counted and _plain_mark(counted[1]):
        stem = counted[1]
    return _plain_mark(stem)


def _plain_mark(stem: str) -> tuple[str, str, Literal["conflict", "clash"], str] | None:
    if stem.endswith(")"):
        at = _opening(stem)
        said = stem[at + 1 : -1]
        for program, words in _BRACKETS if at >= 0 else ():
            if re.fullmatch(words, said, re.I | re.S):
                return stem[:at].rstrip(), program, "conflict", said
        if at >= 0 and re.fullmatch(_CLASHES, said, re.I | re.S):
            return stem[:at].rstrip(), "a sync program", "clash", said
        return None
    for program, mark in _ENDINGS:
        if found := re.search(rf"{mark}\Z", stem, re.I):
            return stem[: found.start()], program, "conflict", found[0]
    return None


def _opening(stem: str) -> int:
    """Where the bracket opens that the stem's last letter closes; -1 when nowhere."""
    depth = 0
    for at in range(len(stem) - 1, -1, -1):
        depth += (stem[at] == ")") - (stem[at] == "(")
        if depth == 0:
            return at
    return -1


def _guess(stem: str, ending: str, beside: Container[str]) -> CopyName | None:
    counted = re.fullmatch(_COUNTED, stem)
    if (
        counted is None
        or counted[1].startswith(".")
        or counted[1] + ending not in beside
    ):
        return None
    program = "Drive" if stem.endswith(")") else "iCloud"
    return CopyName(counted[1] + ending, program, "guess")


def _stamp(said: str) -> str:
    found = re.search(_WHEN, said, re.A)
    if found is None:
        return ""
    year, month, day, hour, minute, second = found.groups()
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    return f"{year}-{month}-{day}" + (
        f" {hour}:{minute}:{second or '00'}" if hour else ""
    )
