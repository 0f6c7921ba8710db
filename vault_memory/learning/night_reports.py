"""Reports of nights: formats the morning report, reads stored ones, and finds what was learned.

A stored report has no learned line, and a checkpoint names what was written by its id alone. So a
line that a person deleted is shown nowhere.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from vault_memory.learning.checkpoint import CheckpointStore
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import parse_text
from vault_memory.markdown.note_items import item_id, items_of
from vault_memory.rules.edits.record_sentences import fact_words
from vault_memory.rules.facts.fact import folded, read_facts
from vault_memory.rules.learning.write_policy import UNNAMED

if TYPE_CHECKING:
    from vault_memory.contract.setup_answers import LearnedLineJson
    from vault_memory.edits.calls import EditCalls
    from vault_memory.learning.checkpoint import CheckpointStore


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


_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class NightReport:
    """What a night did in some scopes."""

    night: str
    """its local date"""
    text: str
    """Markdown with a section for each scope; empty for a night that is unfinished everywhere"""
    scopes: tuple[str, ...] = ()
    """the scopes with a section"""
    unfinished: tuple[str, ...] = ()
    """the scopes whose night failed or was interrupted; it is tried again"""


def read_reports(
    store: CheckpointStore, scopes: Collection[str], since: str = ""
) -> list[NightReport]:
    """Returns the nights of these scopes from the date `since` on, newest first."""
    unfinished = _unfinished(store, scopes)
    nights = {file.stem for file in store.reports() if _DATE.fullmatch(file.stem)}
    reports = [
        _read(store, night, scopes, tuple(unfinished.get(night, ())))
        for night in sorted(nights | unfinished.keys(), reverse=True)
        if night >= since
    ]
    # Fault: the bare date of a night would say that something happened to another person.
    return [report for report in reports if report.scopes or report.unfinished]


def _unfinished(store: CheckpointStore, scopes: Collection[str]) -> dict[str, list[str]]:
    """Returns the scopes of each unfinished night."""
    nights: dict[str, list[str]] = {}
    for scope in sorted(scopes):
        cycle = store.open_cycle(scope)
        if cycle is None or cycle.session:
            continue
        # It may have crashed after committing, before it removed its checkpoint.
        if cycle.serial > store.last(scope).serial:
            nights.setdefault(cycle.night, []).append(scope)
    return nights


def _read(
    store: CheckpointStore, night: str, scopes: Collection[str], unfinished: tuple[str, ...]
) -> NightReport:
    sections = dict(_sections(store.report_text(night)))
    own = {scope: text for scope, text in sections.items() if scope in scopes}
    # A night that ran again has a report already.
    return NightReport(night, "\n\n".join(own.values()), tuple(own), unfinished)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yields the scopes of a report, each with its section."""
    for section in _SECTION.split(text):
        heading = section.partition("\n")[0]
        if heading.startswith("## "):
            yield heading.removeprefix("## ").strip(), section.rstrip()


def lines_of(edits: "EditCalls", store: "CheckpointStore", night: str) -> "list[LearnedLineJson]":
    """Returns the lines of all scopes, each with its note and the turn that says it."""
    lines: list[LearnedLineJson] = []
    for last in store.lasts():
        if last.outcome.get("night") != night:
            continue
        committed = last.outcome.get("committed") or ()
        notes = dict.fromkeys(str(entry["note"]) for entry in committed)
        for note in notes:
            ids = {entry["id"] for entry in committed if entry["note"] == note}
            lines += [
                {"scope": last.scope, "note": note, "text": text, "ref": ref}
                for id_, text, ref in _texts(edits, note)
                if id_ in ids
            ]
    return lines


def _texts(edits: "EditCalls", note: str) -> Iterator[tuple[str, str, str]]:
    """Yields the id, the text and the turn of each item of a note."""
    place = edits.vault.layout.place(note)
    current = edits.editor.there(note)
    # A person removed the note, or the layout has changed.
    if place is None or current is None:
        return
    doc = parse(current.raw)
    if place.kind == "facts":
        for fact in read_facts(doc, place.scope):
            words = fact_words(fact, (folded(place.scope.partition(":")[2]),))
            yield fact.id, words, fact.ref
        return
    for item in items_of(doc):
        fields = parse_text(item.text)
        yield item_id(place.scope, place.kind, item.text), fields.text, fields.ref
