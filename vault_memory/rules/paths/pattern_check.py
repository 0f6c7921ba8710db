"""Checks the patterns and the exclusions that a person wrote into the configuration."""

import re
from collections.abc import Sequence

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


def check_exclusions(exclude: Sequence[str]) -> None:
    """Raises ConfigError when a glob of `exclude` is invalid."""
    problem = globs.problem_of_all(exclude)
    if problem:
        raise ConfigError(f"layout exclusion {problem}", hint=_HINT)


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
