"""Checks the patterns and the exclusions that a person wrote into the configuration."""

import re
from collections.abc import Sequence

from vault_memory.errors import ConfigError
from vault_memory.rules.paths import date_formats, globs
from vault_memory.rules.paths.layout import CAPTURES, ENDINGS, KINDS, Pattern

_CAPTURE = re.compile(r"\{([^{}]*)\}")
_SCOPE = r"(?:user|channel|group):[^{}]*(?:\{\w+\}[^{}]*)?"
_SPECIAL = frozenset("{}*\\")
_OWN_SCOPES = {
    "users": ("user", "Users"),
    "channels": ("channel", "Channels"),
    "groups": ("group", "groups"),
}
"""First folder of a path → the kind of its scope, and the spelling of the folder"""
_HINT = "see docs/guides/own-layout.md"


def check_pattern(pattern: Pattern) -> None:
    """Raises ConfigError when a configured pattern is invalid."""
    problem = _problem_of(pattern)
    if problem:
        raise ConfigError(f"layout pattern `{pattern.path}`: {problem}", hint=_HINT)


def check_exclusions(exclude: Sequence[str]) -> None:
    """Raises ConfigError when a glob of `exclude` is invalid."""
    problem = globs.problem_of_all(exclude)
    if problem:
        raise ConfigError(f"layout exclusion {problem}", hint=_HINT)


def check_bot_folder(folder: str) -> None:
    """Raises ConfigError for a name that no folder can have, and for a folder with the notes of several people."""
    parts = folder.split("/")
    if any(not part or part.startswith(".") or _SPECIAL & set(part) for part in parts):
        problem = "it is one or more names of folders, such as `Bot` or `System/Bot`"
    elif not stays_apart(Pattern(f"{folder}/USER.md", "user", "user:{user}")):
        problem = "this folder has the notes of several people"
    else:
        return
    raise ConfigError(f"layout bot_folder `{folder}`: {problem}", hint=_HINT)


def stays_apart(pattern: Pattern) -> bool:
    """Whether a pattern leaves each note in the folders of people, channels and groups in its scope."""
    first, slash, _ = pattern.path.partition("/")
    own = _OWN_SCOPES.get(first.casefold())
    if own is not None:
        kind, folder = own
        capture = f"{{{kind}}}"
        is_own = pattern.path.startswith(f"{folder}/{capture}/")
        return is_own and pattern.scope == f"{kind}:{capture}"
    if not slash:
        return "{path}" not in first and "**" not in first
    # Fault: what is in brackets in the form of a date is any text, such as the name of a folder.
    is_date = first.startswith("{date:") and "[" not in first
    return is_date or _SPECIAL.isdisjoint(first)


def _problem_of(pattern: Pattern) -> str:
    """Returns the first problem of a pattern; empty when it is valid."""
    problems = (
        *map(_problem_of_capture, _CAPTURE.findall(pattern.path)),
        _problem_of_path(pattern.path),
        globs.problem_of(_CAPTURE.sub("_", pattern.path)),
        _problem_of_kind(pattern.kind),
        _problem_of_scope(pattern),
    )
    return next(filter(None, problems), "")


def _problem_of_capture(capture: str) -> str:
    name, colon, date_format = capture.partition(":")
    if colon and name == "date":
        return date_formats.problem_of(date_format)
    if capture in CAPTURES:
        return ""
    return f"`{{{capture}}}` is no capture; known are {', '.join(CAPTURES)}"


def _problem_of_path(path: str) -> str:
    names = _capture_names(path)
    if len(set(names)) < len(names):
        return "a capture stands in it twice"
    if path.endswith(ENDINGS) and not path.startswith("/"):
        return ""
    return "a path is relative to the vault and ends in `.md`, `.jsonl` or `.canvas`"


def _capture_names(path: str) -> list[str]:
    """Returns the names of the captures, without the formats of dates."""
    return [capture.partition(":")[0] for capture in _CAPTURE.findall(path)]


def _problem_of_kind(kind: str) -> str:
    if kind in KINDS:
        return ""
    return f"`{kind}` is no kind of note; known are {', '.join(KINDS)}"


def _problem_of_scope(pattern: Pattern) -> str:
    captures = set(_CAPTURE.findall(pattern.scope))
    # Fault: a scope with an empty name would open what belongs to no scope.
    if not re.fullmatch(_SCOPE, pattern.scope) or pattern.scope.endswith(":"):
        return (
            f"scope `{pattern.scope}` is not `user:…`, `channel:…` or `group:…` "
            "with one capture at most"
        )
    # `{user}` may be missing in the path: then it is the owner of the vault.
    missing = sorted(captures - set(_capture_names(pattern.path)) - {"user"})
    if missing:
        return f"`{{{missing[0]}}}` is in the scope and not in the path"
    return ""
