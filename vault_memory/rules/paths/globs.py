"""Globs of paths: ``*`` is any text within one part of a path, ``**`` any number of parts."""

import re
from collections.abc import Callable, Iterable

_TEXT = r"[^/\\\x00-\x1f\x7f]"
_FOLDERS = rf"(?:(?!\.){_TEXT}+/)*"


def problem_of(text: str) -> str:
    """Returns what is wrong with the globs in a pattern; empty when they are valid."""
    for part in text.split("/"):
        if "**" in part and part != "**":
            return (
                f"`**` is a part of its own, as in `a/**/b.md`; in `{part}` write `*`"
            )
    return ""


def expression(text: str) -> str:
    """Returns the regular expression of a text with globs. ``**/`` may be no folder at all."""
    pieces = re.split(r"(\*\*/|\*)", text)
    result = ""
    for piece in pieces:
        if piece == "**/":
            result += _FOLDERS
        elif piece == "*":
            # Fault: a star must not claim the hidden files of other programs.
            is_start = not result or result.endswith(("/", _FOLDERS))
            result += rf"(?!\.){_TEXT}*" if is_start else f"{_TEXT}*"
        else:
            result += re.escape(piece)
    return result


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
