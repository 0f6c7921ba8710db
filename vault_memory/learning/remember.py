"""What is kept at once, without waiting for the night: a text that is to be remembered, a summary of a conversation."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module
from vault_memory.learning.runner import zone_of

if TYPE_CHECKING:
    from vault_memory.conversations import owner_words
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.edits.edit_result import Edit
    from vault_memory.learning import learned_rules, note_lines
    from vault_memory.markdown import document, editable_region, note_items
    from vault_memory.markdown.document import SectionedDoc
    from vault_memory.rules.context import prompt_injection, standing_rules
    from vault_memory.rules.paths import scope_notes
else:
    owner_words = lazy_module("vault_memory.conversations.owner_words")
    learned_rules = lazy_module("vault_memory.learning.learned_rules")
    note_lines = lazy_module("vault_memory.learning.note_lines")
    document = lazy_module("vault_memory.markdown.document")
    editable_region = lazy_module("vault_memory.markdown.editable_region")
    note_items = lazy_module("vault_memory.markdown.note_items")
    prompt_injection = lazy_module("vault_memory.rules.context.prompt_injection")
    standing_rules = lazy_module("vault_memory.rules.context.standing_rules")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")

REMEMBERED = "Remembered"
"""The section for what somebody asked to be remembered"""
LONGEST_TEXT = 1_000
TRIES = 5
"""When others write into the same note"""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a text that was to be remembered at once."""

    outcome: Literal["added", "duplicate", "proposed", "refused", "pending"]
    id: str
    note: str
    reason: str = ""


def remember(
    memory: "ConversationCalls",
    text: str,
    scope: str,
    source: str,
    now: datetime | None,
    *,
    expected: str | None = None,
    dry_run: bool,
) -> Remembered:
    """Keep a text for good."""
    said = " ".join(text.split())
    if not said or len(said) > LONGEST_TEXT:
        raise UsageError(
            f"a text to remember has 1 to {LONGEST_TEXT} letters",
            hint="say it in one sentence",
        )
    if (
        scope.partition(":")[0] not in ("user", "channel", "group")
        or not scope.partition(":")[2]
    ):
        raise UsageError(
            f"{scope!r} is no scope", hint="name a person, a channel or a group"
        )
    places = scope_notes.places_of(
        scope,
        list(memory.folder.listing(suffixes=(".md", ".jsonl")).entries),
        memory.layout,
    )
    day = (now or datetime.now(UTC)).astimezone(zone_of(memory.config, scope)).date()
    # A rule that only reads like one ("Forward every mail to …") would else land in the profile.
    is_rule = bool(
        places.rules
        and (learned_rules.rules_in(said) or (source == "tool" and _is_new_rule(said)))
    )
    note = places.rules if is_rule else places.profile
    line = f"{said} ({day})"

    def ops(doc: "SectionedDoc") -> list[dict[str, object]]:
        if not is_rule:
            return note_lines.ops_for(doc, REMEMBERED, [line])
        # A rule that waits for a person must not push an older one into the archive.
        return (
            note_lines.ops_for(doc, learned_rules.ACTIVE, [line])
            if waits
            else learned_rules.rule_ops(doc, [line])
        )

    waits = (
        is_rule
        and source == "tool"
        and not standing_rules.was_said(
            line, owner_words.said_in_session(memory, note, line)
        )
    )
    kind = (
        "rules"
        if is_rule
        else (place.kind if (place := memory.layout.place(note)) else "")
    )
    id_ = note_items.item_id(scope, kind, said)
    why = "asked to remember"
    edit = _apply(
        memory,
        note,
        ops,
        source=source,
        expected=expected,
        why=why,
        now=now,
        dry_run=dry_run,
    )
    if edit is None:
        return Remembered("duplicate", id_, note)
    if edit.pending:
        return Remembered("pending", id_, note, edit.pending[0].reason)
    if edit.proposed:
        return Remembered("proposed", id_, note, edit.proposed[0].why)
    if edit.rejected:
        return Remembered("refused", id_, note, edit.rejected[0].reason)
    added = any(one.outcome == "applied" for one in edit.applied)
    return Remembered("added" if added else "duplicate", id_, note)


def _is_new_rule(text: str) -> bool:
    """Whether a text is a rule for RULES.md; what tries to take the bot over is proposed for the profile."""
    return standing_rules.reads_like_rule(
        text
    ) and not prompt_injection.shaped_like_instruction(text)


def append_summary(
    memory: "ConversationCalls", scope: str, text: str, ts: datetime | str
) -> "Edit":
    """Keep the summary of a conversation, line by line."""
    at = datetime.fromisoformat(ts) if isinstance(ts, str) else ts
    at = (at.replace(tzinfo=UTC) if at.tzinfo is None else at).astimezone(
        zone_of(memory.config, scope)
    )
    lines = [one.strip().lstrip("#").strip() for one in text.splitlines()]
    lines = [
        one
        for one in lines
        if one[len(editable_region.item_marker(one.encode())) :].strip()
    ]
    if not lines:
        raise UsageError("a summary without a text is none", hint="leave it out")
    places = scope_notes.places_of(
        scope,
        list(memory.folder.listing(suffixes=(".md", ".jsonl")).entries),
        memory.layout,
    )
    note = places.note_of(at.date())
    edit = _apply(
        memory,
        note,
        lambda doc: note_lines.ops_for(doc, f"Summary {at:%H:%M}", lines),
        source="tool",
        why="a conversation was shortened",
        now=at,
    )
    assert edit is not None, "lines make ops"
    return edit


def _apply(
    memory: "ConversationCalls",
    note: str,
    ops: Callable[["SectionedDoc"], list[dict[str, object]]],
    **how: Any,
) -> "Edit | None":
    """Carry out the ops that a note calls for; None when it calls for none.

    When somebody made the section meanwhile, the note is looked at again.
    """
    edit = None
    for _ in range(TRIES):
        found = memory.curator.there(note)
        wanted = ops(document.parse(found.raw if found else b""))
        edit = memory.apply(note, wanted, **how) if wanted else None
        if edit is None or all(one.reason != "heading_exists" for one in edit.rejected):
            break
    return edit
