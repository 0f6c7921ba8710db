"""Removes a text from what the nights reported, in the state folder.

The last report of a channel names who spoke in it.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.config import state_file

if TYPE_CHECKING:
    from vault_memory.rules.forgetting.matcher import TextMatcher

LAST = "nights/*.last.json"
PAGES = ("nights/reports/*.md", "nights/aged-out.jsonl")
TEXTS = ("outcome", "by_day", "speakers", "files")
"""Fields of a report that may have names and words. Without its other fields a night would read all
turns again."""


def redact_reports(
    state: Path, matcher: "TextMatcher", scopes: Collection[str] | None
) -> list[Path]:
    """Redacts the reports of these scopes, of all for None. Returns the files that changed."""
    changes = dict(_redacted_reports(state, matcher, scopes))
    if scopes is None:
        changes |= dict(_redacted_pages(state, matcher))
    for file, text in changes.items():
        state_file.write(file, text)
    return list(changes)


def reports_with_text(
    state: Path, matcher: "TextMatcher", scopes: Collection[str] | None
) -> list[Path]:
    """Returns the reports that `redact_reports` would change."""
    pages = _redacted_pages(state, matcher) if scopes is None else ()
    changes = (*_redacted_reports(state, matcher, scopes), *pages)
    return [file for file, _ in changes]


def _redacted_reports(
    state: Path, matcher: "TextMatcher", scopes: Collection[str] | None
) -> Iterator[tuple[Path, str]]:
    for file in sorted(state.glob(LAST)):
        report = state_file.read_json(file)
        if not isinstance(report, dict):
            # Fault: a damaged file has no fields to redact. The search for residue names it.
            continue
        if scopes is None or report.get("scope") in scopes:
            texts = {key: report[key] for key in TEXTS if key in report}
            redacted = _without(texts, matcher)
            if redacted != texts:
                yield file, json.dumps(report | redacted)


def _redacted_pages(state: Path, matcher: "TextMatcher") -> Iterator[tuple[Path, str]]:
    for pattern in PAGES:
        for file in sorted(state.glob(pattern)):
            lines = file.read_text("utf-8", "replace").splitlines(keepends=True)
            others = [line for line in lines if not matcher.hides(line)]
            if others != lines:
                yield file, "".join(others)


def _without(value: Any, matcher: "TextMatcher") -> Any:
    """Returns a JSON value without the strings and keys that contain the text."""
    if isinstance(value, Mapping):
        return {
            key: _without(entry, matcher) for key, entry in value.items() if not matcher.hides(key)
        }
    if isinstance(value, list):
        return [_without(entry, matcher) for entry in value if not _hides(entry, matcher)]
    return "" if _hides(value, matcher) else value


def _hides(value: Any, matcher: "TextMatcher") -> bool:
    return isinstance(value, str) and matcher.hides(value)
