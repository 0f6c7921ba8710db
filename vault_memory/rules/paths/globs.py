"""Globs of paths: ``*`` is any text within one part of a path, ``**`` any number of parts.

A glob is matched part by part. What a star has taken is never tried again: of all places where
the text behind a star fits, the first one leaves the most to the stars behind it. So the steps
grow with the length of the path, and not with a power of it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

MOST_GLOBS = 16
LONGEST_GLOB = 200
"""In letters"""
MOST_STARS = 8
"""Stars of a glob; ``**`` is one"""
LETTER = r"[^/\\\x00-\x1f\x7f]"
"""Expression of a letter of a name"""
NOT_HIDDEN = r"(?!\.)"
ANY_FOLDERS = "**"
_END_OF_PART = r"(?=/|\Z)"
_BELOW = "(?:/.*)?"
_STARS = re.compile(r"\*+")
_TWO_STARS_IN_A_NAME = re.compile(r"(?<![^/*])[^/*]++\*\*[^/]*+|\*\*[^/]+")


class _Dialect(NamedTuple):
    letter: str
    first_letter: str
    """a condition on the text of a star at the start of a name"""
    one_letter: str
    """the wildcard of one letter; empty without one"""
    any_folders_at_end: str
    """the expression of ``/**`` at the end of a glob"""


# Fault: a star at the start of a name must not claim the hidden files of other programs.
_NOTES = _Dialect(LETTER, NOT_HIDDEN, "", _BELOW)
_FILES = _Dialect("[^/]", "", "?", "/.*")


def problem_of(text: str) -> str:
    """Returns what is wrong with a glob; empty when it is valid."""
    # Fault: a filter from a request must not cost more than the search.
    if len(text) > LONGEST_GLOB:
        return f"it has {len(text)} letters; a glob has at most {LONGEST_GLOB}"
    stars = len(_STARS.findall(text))
    if stars > MOST_STARS:
        return f"it has {stars} stars; a glob has at most {MOST_STARS}"
    match = _TWO_STARS_IN_A_NAME.search(text)
    if match is None:
        return ""
    return f"`**` is a part of its own, as in `a/**/b.md`; in `{match[0]}` write `*`"


def problem_of_all(globs: Sequence[str]) -> str:
    """Returns what is wrong with a list of globs; empty when it is valid."""
    if len(globs) > MOST_GLOBS:
        return f"there are {len(globs)} globs; at most {MOST_GLOBS} are allowed"
    for glob in globs:
        problem = problem_of(glob) if glob.strip("/") else "it is empty"
        if problem:
            return f"`{glob[:LONGEST_GLOB]}`: {problem}"
    return ""


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Returns a function that says whether a glob matches a note or a folder above it.

    A glob without a slash matches a name in any folder.
    """
    return _matcher((glob.strip("/") for glob in globs), _NOTES)


def file_matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Returns a function that says whether a glob matches any file or a folder above it.

    A slash at the start of a glob means the top of the vault, and ``?`` one letter.
    """
    return _matcher((glob.rstrip("/") for glob in globs), _FILES)


def _matcher(globs: Iterable[str], dialect: _Dialect) -> Callable[[str], bool]:
    expressions = [_expression(glob, dialect) for glob in globs]
    regex = re.compile(f"(?s:{'|'.join(expressions)})")
    return lambda path: regex.fullmatch(path) is not None


def _expression(glob: str, dialect: _Dialect) -> str:
    path = glob.strip("/").split("/")
    if "/" not in glob:
        path = [ANY_FOLDERS, *path]
    below = _BELOW
    while path and path[-1] == ANY_FOLDERS:
        below = dialect.any_folders_at_end
        path.pop()
    expression = ""
    after_any_folders = False
    for is_any, group in groupby(path, ANY_FOLDERS.__eq__):
        if is_any:
            after_any_folders = True
            continue
        separator = "/" if expression else ""
        names = "/".join(_name_expression(name, dialect) for name in group)
        if after_any_folders:
            folder = f"{dialect.first_letter}{dialect.letter}++/"
            names = f"(?>(?:{folder})*?{names})"
        expression += separator + names
    return expression + below if expression else ".*"


def _name_expression(name: str, dialect: _Dialect) -> str:
    first, *behind_stars = (_literal_expression(text, dialect) for text in _STARS.split(name))
    if not behind_stars:
        return first + _END_OF_PART
    *between, last = behind_stars
    start = first or dialect.first_letter
    middle = "".join(f"(?>{dialect.letter}*?{text})" for text in between)
    return f"{start}{middle}(?>{dialect.letter}*{last}{_END_OF_PART})"


def _literal_expression(text: str, dialect: _Dialect) -> str:
    if not dialect.one_letter:
        return re.escape(text)
    literals = text.split(dialect.one_letter)
    return dialect.letter.join(map(re.escape, literals))
