"""Recognises names of conflict copies, which sync programs give to a text that lost its own name.

The name of a copy contains the name of the original, mostly the program, and mostly the time. Names
of copies of copies are recognised, too. Pure; accepts any name.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Literal, NamedTuple

WORDS = ("conflict", "memory copy", "clash")
"""Words of which every certain mark has one, for a quick check"""

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
    """The contents of a copy's name."""

    original: str
    """the name of the original; of a copy of a copy the first original"""
    program: str
    kind: Literal["conflict", "clash", "guess"]
    """`clash`: a file system could not hold both names; `guess`: only a number marks it, as in
    `a (1).md`"""
    stamp: str = ""
    """the time in the name: ``2026-11-21`` or ``2026-11-21 20:33:12``"""


_Kind = Literal["conflict", "clash"]


class _Mark(NamedTuple):
    """A mark of a conflict copy at the end of a name."""

    stem: str
    """the name before the mark"""
    program: str
    kind: _Kind
    text: str


def conflict_copy(name: str) -> str | None:
    """Returns the original of a copy (``USER (conflicted copy …).md`` → ``USER.md``), or None."""
    if not _may_have_mark(name):
        return None
    copy_name = copy_of(name)
    return copy_name.original if copy_name else None


def _may_have_mark(name: str) -> bool:
    """A quick check, without patterns."""
    folded = name.lower()
    return any(word in folded for word in WORDS)


def copy_of(name: str, beside: Container[str] = ()) -> CopyName | None:
    """Returns the contents of a copy's name, or None for any other name.

    A name that differs from another only by a number is a copy when the other is in `beside`.
    """
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    # To count the copies, the names of all notes are looked at.
    first_mark = mark = _last_mark(stem) if _may_have_mark(stem) else None
    if first_mark is None:
        return _guess(stem, dot + extension, beside)
    # A copy of a copy has several marks.
    while mark:
        stem = mark.stem
        mark = _last_mark(stem)
    original = stem + dot + extension
    # Fault (D75): the temporary of a client may have a name like that of a copy.
    if not stem or original.startswith("."):
        return None
    stamp = _stamp(first_mark.text)
    return CopyName(original, first_mark.program, first_mark.kind, stamp)


def named_copies(
    paths: Iterable[str], is_known: Callable[[str], object]
) -> Iterator[tuple[str, CopyName]]:
    """Yields the conflict copies among these paths whose originals satisfy `is_known`."""
    for path in paths:
        name = copy_of(path.rpartition("/")[2])
        if name is not None and is_known(original_path(path, name)):
            yield path, name


def original_path(path: str, name: CopyName) -> str:
    """Returns the path of the original of a copy."""
    folder, slash, _ = path.rpartition("/")
    return folder + slash + name.original


def _last_mark(stem: str) -> _Mark | None:
    """Returns the last mark of a name; a number after the mark belongs to it."""
    counted = re.fullmatch(_COUNTED, stem)
    return (counted and _mark_at_end(counted[1])) or _mark_at_end(stem)


def _mark_at_end(stem: str) -> _Mark | None:
    if stem.endswith(")"):
        return _mark_in_brackets(stem)
    for program, pattern in _ENDINGS:
        match = re.search(rf"{pattern}\Z", stem, re.I)
        if match:
            return _Mark(stem[: match.start()], program, "conflict", match[0])
    return None


def _mark_in_brackets(stem: str) -> _Mark | None:
    start = _opening_bracket(stem)
    if start < 0:
        return None
    text = stem[start + 1 : -1]
    original = stem[:start].rstrip()
    for program, pattern in _BRACKETS:
        if re.fullmatch(pattern, text, re.I | re.S):
            return _Mark(original, program, "conflict", text)
    if re.fullmatch(_CLASHES, text, re.I | re.S):
        return _Mark(original, "a sync program", "clash", text)
    return None


def _opening_bracket(stem: str) -> int:
    """Returns the index of the bracket that the last letter closes, or -1."""
    depth = 0
    for index in range(len(stem) - 1, -1, -1):
        depth += (stem[index] == ")") - (stem[index] == "(")
        if depth == 0:
            return index
    return -1


def _guess(stem: str, extension: str, beside: Container[str]) -> CopyName | None:
    """Returns a copy that only a number marks, as Drive and iCloud write it."""
    counted = re.fullmatch(_COUNTED, stem)
    if counted is None or counted[1].startswith("."):
        return None
    original = counted[1] + extension
    if original not in beside:
        return None
    program = "Drive" if stem.endswith(")") else "iCloud"
    return CopyName(original, program, "guess")


def _stamp(text: str) -> str:
    """Returns the time in a mark, or ``""``."""
    match = re.search(_WHEN, text, re.A)
    if match is None:
        return ""
    year, month, day, hour, minute, second = match.groups()
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return ""
    if not hour:
        return f"{year}-{month}-{day}"
    return f"{year}-{month}-{day} {hour}:{minute}:{second or '00'}"
