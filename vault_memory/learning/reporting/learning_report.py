"""Formats the morning report: a Markdown text of what a night did in each scope. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from vault_memory.rules.learning.write_policy import UNNAMED

Outcome = TypeVar("Outcome", bound=Mapping[str, Any])

COUNTS = (
    ("memories", "remembered", "remembered"),
    ("facts", "fact", "facts"),
    ("rules", "rule", "rules"),
    ("duplicates", "said before", "said before"),
    ("conflicts", "contradiction", "contradictions"),
    ("curated", "edit of USER.md", "edits of USER.md"),
    ("reflected", "line of reflection", "lines of reflection"),
    ("pruned", "file aged out", "files aged out"),
    ("proposed", "waits for you in INBOX", "wait for you in INBOX"),
    ("refused", "refused", "refused"),
    (
        "waiting",
        "write waits until its note is left alone",
        "writes wait until their notes are left alone",
    ),
)
"""Name of a count, with its label for one and for several"""
LATEST_COUNT = frozenset({"idle", "more"})
"""Counts of which the last value is valid; all others are added up"""
LATEST_TEXT = frozenset({"rung", "model", "reason"})
"""Texts of which the last one that is not empty is valid"""


def morning_report(
    night: str, outcomes: Iterable[Mapping[str, Any]], *, dry_run: bool = False
) -> str:
    """Returns the report on all scopes of one night."""
    title = f"# The night of {night}"
    if dry_run:
        title += " (dry run: nothing was written)"
    scopes = [_scope_report(outcome) for outcome in outcomes]
    if not scopes:
        scopes = ["There was nobody to learn about."]
    return "\n\n".join([title, *scopes]) + "\n"


def _scope_report(outcome: Mapping[str, Any]) -> str:
    bullets = [
        _gathered(outcome),
        _counts(outcome),
        _held(outcome),
        _dropped(outcome),
        _answered_by(outcome),
        _tokens(outcome),
        _remaining(outcome),
        _idle(outcome),
    ]
    if outcome.get("notes"):
        bullets.append(f"written: {', '.join(outcome['notes'])}")
    lines = [f"## {outcome['scope']}", ""]
    lines += [f"- {bullet}" for bullet in bullets if bullet]
    if outcome.get("learned"):
        lines += ["", *(f"> {line}" for line in outcome["learned"])]
    return "\n".join(lines)


def _gathered(outcome: Mapping[str, Any]) -> str:
    match outcome["state"]:
        case "failed":
            return "failed; it is tried again"
        case "quiet" if outcome.get("heard", 0):
            return f"{outcome['heard']} turns were read when their conversations ended"
        case "quiet":
            return "nothing was said"
    return f"{_turns(outcome['gathered'])} read"


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _counts(outcome: Mapping[str, Any]) -> str:
    labels = []
    for name, singular, plural in COUNTS:
        count = outcome.get(name)
        if count:
            labels.append(f"{count} {singular if count == 1 else plural}")
    return ", ".join(labels)


def _held(outcome: Mapping[str, Any]) -> str:
    count = len(outcome.get("held") or ())
    return f"{count} held back until more is said" if count else ""


def _dropped(outcome: Mapping[str, Any]) -> str:
    """Names the turns of what is not kept, without the words; a crisis is not named."""
    drops = [
        f"turn {drop['ref']} ({drop['reason']})"
        for drop in outcome.get("dropped") or ()
        if drop["reason"] not in UNNAMED
    ]
    return f"not kept: {', '.join(drops)}" if drops else ""


def _answered_by(outcome: Mapping[str, Any]) -> str:
    reason = outcome.get("reason") or ""
    if not outcome.get("rung"):
        return reason
    answer = f"answered by {outcome['model']} ({outcome['rung']})"
    return f"{answer}: {reason}" if reason else answer


def _tokens(outcome: Mapping[str, Any]) -> str:
    """What the questions of the scope cost this month; empty without a model."""
    tokens = outcome.get("tokens") or {}
    if not tokens.get("calls"):
        return ""
    calls = "1 call" if tokens["calls"] == 1 else f"{tokens['calls']} calls"
    text = f"tokens this month: {tokens['in']} in, {tokens['out']} out, {calls}"
    if tokens["estimated"]:
        text += f" ({tokens['estimated']} estimated)"
    return text


def _remaining(outcome: Mapping[str, Any]) -> str:
    if not outcome.get("more"):
        return ""
    return f"{_turns(outcome['more'])} found no room; the next run begins there"


def _idle(outcome: Mapping[str, Any]) -> str:
    nights = outcome.get("idle", 0)
    return f"nothing was learned for {nights} nights" if nights > 1 else ""


def joined(previous: Mapping[str, Any] | None, outcome: Outcome) -> Outcome:
    """Adds an outcome to that of previous cycles of the same scope and night, if there were any."""
    if not previous:
        return outcome
    total = dict(outcome)
    for name, before in previous.items():
        if name in total:
            total[name] = _joined_value(name, before, total[name])
    if total["state"] == "quiet" and total["gathered"]:
        total["state"] = "done"
    # Addition keeps the keys and the type of each value.
    return cast("Outcome", total)


def _joined_value(name: str, before: Any, now: Any) -> Any:
    if isinstance(now, list):
        return [*before, *(item for item in now if item not in before)]
    if isinstance(now, int) and name not in LATEST_COUNT:
        return before + now
    if name in LATEST_TEXT:
        return now or before
    return now
