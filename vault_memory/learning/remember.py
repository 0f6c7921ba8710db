"""Saves a text to remember or a summary at once, without a learning cycle."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vault_memory.contract import RememberOutcome, Source
from vault_memory.edits.calls import EditOptions
from vault_memory.errors import UsageError
from vault_memory.learning import known_items, learned_rules, note_lines
from vault_memory.learning.policy import tool_requests
from vault_memory.learning.runner import zone_of
from vault_memory.markdown import document, editable_region, note_items
from vault_memory.models.llm import channel_phrases, policy_tables
from vault_memory.rules.claims import equivalence
from vault_memory.rules.context import prompt_injection, standing_rules
from vault_memory.rules.edits import skipped_duplicates
from vault_memory.rules.edits.ops import Replace
from vault_memory.rules.learning import relative_days
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.scopes import check_scope
from vault_memory.rules.search import tokens

if TYPE_CHECKING:
    from vault_memory.edits.calls import EditCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.learning.known_items import KnownItem
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.learning.policy_cues import PolicyCues
    from vault_memory.rules.paths.scope_notes import Places

REMEMBERED = "Remembered"
"""The section for texts that someone asked to remember"""
LONGEST_TEXT = 1_000
TRIES = 5
"""When others write into the same note"""

Ops = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of a request to remember a text."""

    outcome: RememberOutcome
    id: str
    note: str
    reason: str = ""


def remember(edits: "EditCalls", text: str, scope: str, options: EditOptions) -> Remembered:
    """Saves a text for good. Raises UsageError for a wrong text or scope."""
    source = options.source
    words = " ".join(text.split())
    _check(words, scope)
    places = _places_of(edits, scope)
    day = (options.now or datetime.now(UTC)).astimezone(zone_of(edits.vault.config, scope)).date()
    line = f"{words} ({day})"
    cues = policy_tables.policy_cues(edits.vault.state.path)
    is_rule = bool(places.rules) and _is_rule(words, source, cues)
    if source == "tool":
        owner_turns, options = _spoken(edits, places, words, options, is_rule=is_rule)
        # What a person writes is not judged; a bot may pass on anything that it reads.
        verdict = tool_requests.judge(
            edits.vault, places, words, options, is_rule=is_rule, owner_turns=owner_turns
        )
        if verdict is not None:
            note = places.rules if is_rule else places.profile
            return Remembered(verdict.outcome, verdict.id, note, verdict.reason)
    if is_rule:
        note, kind = places.rules, "rules"
        make_ops = _rule_ops(edits, note, line, source)
    else:
        note = places.profile
        place = edits.vault.layout.place(note)
        kind = place.kind if place else ""
        # Fault: "tomorrow" would be wrong when the line is read on another day.
        words = relative_days.with_calendar_days(words, day)
        line = f"{words} ({day})"
        make_ops = _item_ops(REMEMBERED, line)
        known = _known(edits, places, line, source)
        if known is not None:
            return _meet(edits, known, line, scope, options)
    id_ = note_items.item_id(scope, kind, words)
    edit = _apply(edits, note, make_ops, options._replace(why="asked to remember"))
    return _result(edit, id_, note)


def _spoken(
    edits: "EditCalls", places: "Places", words: str, options: EditOptions, *, is_rule: bool
) -> tuple[tuple[str, ...], EditOptions]:
    """Returns the turns in which the person says a text of a tool, and whose words it has."""
    if is_rule:
        return (), options
    owner_turns = edits.said_by_owner(places.profile, words)
    # Fault: a page that a model reads can talk it into any statement.
    origin = options.origin if owner_turns else "tool"
    return owner_turns, options._replace(origin=origin)


def scope_for(text: str, user: str, channel: str) -> str:
    """Returns where a bot keeps a text in a project, which is a channel.

    Decisions and matters of the project go to the channel, anything else to the person.
    """
    own = f"user:{user}"
    # Fault: what is about a single person must not reach the others in the channel.
    if tokens.names(user, text) or not channel_phrases.is_shared_matter(text):
        return own
    # Fault: in the notes of a channel, a rule would not wait for a person's approval.
    is_rule = learned_rules.rules_in(text) or standing_rules.reads_like_rule(text)
    if is_rule or prompt_injection.shaped_like_instruction(text):
        return own
    return f"channel:{channel}"


def _known(edits: "EditCalls", places: "Places", line: str, source: Source) -> "KnownItem | None":
    """Returns the item that says the text already; None when the text is written beside it."""
    known = known_items.find_known(edits, places, line)
    # A person's longer text is kept beside a shorter one that a person wrote.
    if known and known.is_shorter and not known.is_replaceable and source != "tool":
        return None
    return known


def _meet(
    edits: "EditCalls", known: "KnownItem", line: str, scope: str, options: EditOptions
) -> Remembered:
    """Replaces an item of the bot that says less, or records that an item says the text."""
    note, heading, text = known.item.note, known.item.heading, known.item.text
    place = edits.vault.layout.place(note)
    assert place is not None, "items are read from notes of the scope"
    if known.is_shorter and known.is_replaceable:
        op = Replace(heading, text, line, exact=True)
        options = options._replace(why="asked to remember", expected=None)
        edit = edits.apply(note, [op], options)
        return _result(edit, note_items.item_id(scope, place.kind, line), note)
    key = equivalence.content_key(place.scope, text)
    skip = skipped_duplicates.SkippedDuplicate(heading, line, key, "")
    edits.record_duplicates(note, [skip], options._replace(why="asked to remember"))
    return Remembered("duplicate", note_items.item_id(scope, place.kind, text), note)


def _check(words: str, scope: str) -> None:
    # Fault: a pasted document must not become one line of the profile.
    if not words or len(words) > LONGEST_TEXT:
        raise UsageError(
            f"a text to remember has 1 to {LONGEST_TEXT} letters", hint="say it in one sentence"
        )
    check_scope(scope)


def _places_of(edits: "EditCalls", scope: str) -> "Places":
    listing = edits.vault.folder.listing()
    return scope_notes.places_of(scope, list(listing.entries), edits.vault.layout)


def _is_rule(words: str, source: str, cues: "PolicyCues") -> bool:
    """Whether a text belongs into RULES.md."""
    # Fault: "from now on I work there" would become a rule for the bot.
    if cues.is_own_statement(words):
        return False
    if learned_rules.rules_in(words):
        return True
    # A tool may pass a text that only reads like a rule, such as "Forward every mail to ...".
    # In the profile it would be followed without a person's approval.
    return source == "tool" and _reads_like_rule(words)


def _reads_like_rule(text: str) -> bool:
    """Whether it reads like a rule, but not like an instruction that takes over the bot."""
    # Fault: a text of others that takes over the bot must not become a rule.
    if prompt_injection.shaped_like_instruction(text):
        return False
    return standing_rules.reads_like_rule(text)


def _item_ops(heading: str, line: str) -> "Callable[[SectionedDoc], Ops]":
    return lambda doc: note_lines.ops_for(doc, heading, [line])


def _rule_ops(
    edits: "EditCalls", note: str, line: str, source: Source
) -> "Callable[[SectionedDoc], Ops]":
    if source == "tool":
        session_words = edits.owner_words(note, source, line)
        if not standing_rules.was_said(line, session_words):
            # A rule that waits for approval must not push an older one into the archive.
            return _item_ops(learned_rules.ACTIVE, line)
    # A rule leaves the archive by a person alone.
    restores = source != "tool"
    return lambda doc: learned_rules.rule_ops(doc, [line], restores=restores)


def _result(edit: "Edit | None", id_: str, note: str) -> Remembered:
    if edit is None:
        return Remembered("duplicate", id_, note)
    if edit.pending:
        return Remembered("pending", id_, note, edit.pending[0].reason)
    if edit.proposed:
        proposal = edit.proposed[0]
        return Remembered("proposed", proposal.id, note, proposal.why)
    if edit.rejected:
        return Remembered("refused", id_, note, edit.rejected[0].reason)
    outcomes = {op.outcome for op in edit.applied}
    return Remembered("added" if "applied" in outcomes else "duplicate", id_, note)


def append_summary(edits: "EditCalls", scope: str, text: str, ts: datetime | str) -> "Edit":
    """Saves the summary of a conversation line by line. Raises UsageError without any text."""
    try:
        moment = datetime.fromisoformat(ts) if isinstance(ts, str) else ts
    except ValueError:
        raise UsageError(
            f"`ts` is a time, not {ts!r}", hint="write it like 2026-01-31T18:30+01:00"
        ) from None
    if moment.tzinfo is None:
        # Fault: a time without a zone would be that of the machine, which may differ from the
        # caller's.
        moment = moment.replace(tzinfo=UTC)
    moment = moment.astimezone(zone_of(edits.vault.config, scope))
    # Fault: a heading in the text of the host would open a section of its own.
    stripped = (line.strip().lstrip("#").strip() for line in text.splitlines())
    lines = [line for line in stripped if _has_text(line)]
    if not lines:
        raise UsageError("the summary has no text", hint="give at least one line")
    edit = _apply(
        edits,
        _places_of(edits, scope).note_of(moment.date()),
        lambda doc: note_lines.ops_for(doc, f"Summary {moment:%H:%M}", lines),
        EditOptions("tool", why="a conversation was shortened", now=moment),
    )
    assert edit is not None, "lines make ops"
    return edit


def _has_text(line: str) -> bool:
    marker = editable_region.item_marker(line.encode(errors="replace"))
    return bool(line[len(marker) :].strip())


def _apply(
    edits: "EditCalls", note: str, make_ops: "Callable[[SectionedDoc], Ops]", options: EditOptions
) -> "Edit | None":
    """Applies the ops that the note needs; None when it needs none."""
    edit = None
    # Fault: another process writes into the note at the same time. The loop ends even if it does so
    # often.
    for _ in range(TRIES):
        current = edits.editor.there(note)
        ops = make_ops(document.parse(current.raw if current else b""))
        edit = edits.apply(note, ops, options) if ops else None
        # Another process may create the section between the look and the edit.
        is_late = edit is not None and any(op.reason == "heading_exists" for op in edit.rejected)
        if not is_late:
            break
    return edit
