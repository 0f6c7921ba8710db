"""Checks the patterns and the exclusions that a person wrote into the configuration."""

import re
from collections.abc import Iterable

from vault_memory.errors import ConfigError
from vault_memory.rules.paths import date_formats, globs
from vault_memory.rules.paths.layout import CAPTURES, ENDINGS, KINDS, Pattern

_CAPTURE = re.compile(r"\{([^{}]*)\}")
_SCOPE = r"(?:user|channel|group):[^{}]*(?:\{\w+\}[^{}]*)?"
_HINT = "see docs/guides/own-layout.md"


def check_pattern(pattern: Pattern) -> None:
    """Raises ConfigError when a configured pattern is invalid."""
    problem = _problem_of(pattern)
    if problem:
        raise ConfigError(f"layout pattern `{pattern.path}`: {problem}", hint=_HINT)


def check_exclusions(exclude: Iterable[str]) -> None:
    """Raises ConfigError when a glob of `exclude` is invalid."""
    for glob in exclude:
        problem = globs.problem_of(glob)
        if not glob.strip("/"):
            problem = "it is empty"
        if problem:
            raise ConfigError(f"layout exclusion `{glob}`: {problem}", hint=_HINT)


def _problem_of(pattern: Pattern) -> str:
    return _problem_of_path(pattern.path) or _problem_of_note(pattern)


def _problem_of_path(path: str) -> str:
    captures = _names(path)
    if len(set(captures)) < len(captures):
        return "a capture stands in it twice"
    for capture in _CAPTURE.findall(path):
        name, colon, date_format = capture.partition(":")
        if colon and name == "date":
            problem = date_formats.problem_of(date_format)
            if problem:
                return problem
        elif colon or name not in CAPTURES:
            return f"`{{{capture}}}` is no capture; known are {', '.join(CAPTURES)}"
    if not path.endswith(ENDINGS) or path.startswith("/"):
        return (
            "a path is relative to the vault and ends in `.md`, `.jsonl` or `.canvas`"
        )
    return globs.problem_of(_CAPTURE.sub("", path))


def _names(path: str) -> list[str]:
    """Returns the names of the captures, without the formats of dates."""
    return [capture.partition(":")[0] for capture in _CAPTURE.findall(path)]


def _problem_of_note(pattern: Pattern) -> str:
    scope_captures = set(_CAPTURE.findall(pattern.scope))
    unknown = sorted(scope_captures - set(CAPTURES))
    if unknown:
        return f"`{{{unknown[0]}}}` is no capture; known are {', '.join(CAPTURES)}"
    if pattern.kind not in KINDS:
        return f"`{pattern.kind}` is no kind of note; known are {', '.join(KINDS)}"
    if not re.fullmatch(_SCOPE, pattern.scope) or pattern.scope.endswith(":"):
        return (
            f"scope `{pattern.scope}` is not `user:…`, `channel:…` or `group:…` "
            "with one capture at most"
        )
    missing = sorted(scope_captures - set(_names(pattern.path)) - {"user"})
    if missing:
        return f"`{{{missing[0]}}}` is in the scope and not in the path"
    return ""
