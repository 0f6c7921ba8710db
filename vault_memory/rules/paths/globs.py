"""Globs of paths: ``*`` is any text within one part of a path, ``**`` any number of parts."""

import re
from collections.abc import Callable, Iterable

_TEXT = r"[^/\\\x00-\x1f\x7f]"
_FIRST_STAR = "\0"
_WILDCARDS = {
    "**/": rf"(?:(?!\.){_TEXT}+/)*",
    _FIRST_STAR: rf"(?!\.){_TEXT}*",
    "*": f"{_TEXT}*",
}
_TWO_STARS_IN_A_NAME = re.compile(r"[^/]+\*\*[^/]*|\*\*[^/]+")


def problem_of(text: str) -> str:
    """Returns what is wrong with the globs in a pattern; empty when they are valid."""
    match = _TWO_STARS_IN_A_NAME.search(text)
    if match is None:
        return ""
    return f"`**` is a part of its own, as in `a/**/b.md`; in `{match[0]}` write `*`"


def expression(text: str) -> str:
    """Returns the regular expression of a text with globs. ``**/`` may be no folder at all."""
    # Fault: a star at the start of a name must not claim the hidden files of other programs.
    marked = re.sub(r"(^|/)\*(?!\*/)", r"\1" + _FIRST_STAR, text)
    tokens = re.split(rf"(\*\*/|{_FIRST_STAR}|\*)", marked)
    return "".join(_WILDCARDS.get(token) or re.escape(token) for token in tokens)


def matcher(globs: Iterable[str]) -> Callable[[str], bool]:
    """Returns a function that says whether a glob matches a path or a folder above it.

    A glob without a slash matches a name in any folder.
    """
    expressions = [_of_exclusion(glob) for glob in globs]
    regex = re.compile("|".join(expressions))
    return lambda path: regex.fullmatch(path) is not None


def _of_exclusion(glob: str) -> str:
    trimmed = glob.strip("/").removesuffix("/**")
    if "/" not in glob.strip("/"):
        trimmed = f"**/{trimmed}"
    return rf"{expression(trimmed)}(?:/.*)?"
