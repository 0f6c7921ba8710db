"""The rules of a bot's memory, pure: no files, no clocks. What a path means, what an op does, what the audit tells."""

from importlib import import_module
from typing import TYPE_CHECKING

from vault_memory.memory.copies import CopyName, conflict_copy, copy_of, named_copies, original_path
from vault_memory.memory.layout import KINDS, Layout, Pattern, Place, bots
from vault_memory.memory.names import awkward, clash_key, clashes, ignored, inside, person_key, unreadable

if TYPE_CHECKING:
    from vault_memory.memory.audit import (
        BOT_SOURCES,
        SOURCES,
        Done,
        Proposal,
        Record,
        proposals_of,
        propose,
        record_run,
        summary,
        union,
    )
    from vault_memory.memory.buffers import Seen, Verdict, gone_back, judge, offered
    from vault_memory.memory.diffs import unified
    from vault_memory.memory.editing import apply_ops
    from vault_memory.memory.extraction import read_answer
    from vault_memory.memory.forgetting import Cut, Revisions, cut_audit, cut_note, cut_transcript
    from vault_memory.memory.inbox import (
        Decisions,
        add_to_inbox,
        describe,
        drop_from_inbox,
        expired,
        read_inbox,
        strike_in_inbox,
    )
    from vault_memory.memory.items import NoteItem, Resolved, item_id, items_of, resolve
    from vault_memory.memory.learned import Doubt, Extraction, FoundFact, Memory
    from vault_memory.memory.newer import Fitted, asked_about, fitted
    from vault_memory.memory.ops import (
        AddHeading,
        Append,
        Applied,
        Op,
        Outcome,
        Rejected,
        Remove,
        Replace,
        as_json,
        read_op,
    )
    from vault_memory.memory.ownership import Ownership, lift, replay
    from vault_memory.memory.policy import Decision, Rules, decide, why_stale
    from vault_memory.memory.prompting import CUT, Excerpt, Prompt
    from vault_memory.memory.reading import read_line, read_record
    from vault_memory.memory.redaction import redact
    from vault_memory.memory.sought import Sought, TextTooShort
    from vault_memory.memory.turns import (
        ROLES,
        Turn,
        TurnChunk,
        checked,
        new_id,
        own_scope,
        read_dropped,
        read_turn,
        read_turns,
        transcript_path,
        turn_chunks,
        turn_of,
        union_of_turns,
    )
    from vault_memory.memory.undoing import NotUndoable, Undone, undo

__all__ = [
    "BOT_SOURCES",
    "CUT",
    "KINDS",
    "ROLES",
    "SOURCES",
    "AddHeading",
    "Append",
    "Applied",
    "CopyName",
    "Cut",
    "Decision",
    "Decisions",
    "Done",
    "Doubt",
    "Excerpt",
    "Extraction",
    "Fitted",
    "FoundFact",
    "Layout",
    "Memory",
    "NotUndoable",
    "NoteItem",
    "Op",
    "Outcome",
    "Ownership",
    "Pattern",
    "Place",
    "Prompt",
    "Proposal",
    "Record",
    "Rejected",
    "Remove",
    "Replace",
    "Resolved",
    "Revisions",
    "Rules",
    "Seen",
    "Sought",
    "TextTooShort",
    "Turn",
    "TurnChunk",
    "Undone",
    "Verdict",
    "add_to_inbox",
    "apply_ops",
    "as_json",
    "asked_about",
    "awkward",
    "bots",
    "checked",
    "clash_key",
    "clashes",
    "conflict_copy",
    "copy_of",
    "cut_audit",
    "cut_note",
    "cut_transcript",
    "decide",
    "describe",
    "drop_from_inbox",
    "expired",
    "fitted",
    "gone_back",
    "ignored",
    "inside",
    "item_id",
    "items_of",
    "judge",
    "lift",
    "named_copies",
    "new_id",
    "offered",
    "original_path",
    "own_scope",
    "person_key",
    "proposals_of",
    "propose",
    "read_answer",
    "read_dropped",
    "read_inbox",
    "read_line",
    "read_op",
    "read_record",
    "read_turn",
    "read_turns",
    "record_run",
    "redact",
    "replay",
    "resolve",
    "strike_in_inbox",
    "summary",
    "transcript_path",
    "turn_chunks",
    "turn_of",
    "undo",
    "unified",
    "union",
    "union_of_turns",
    "unreadable",
    "why_stale",
]

_MODULES = {
    **dict.fromkeys(
        ("BOT_SOURCES", "SOURCES", "Done", "Proposal", "Record", "proposals_of", "propose", "record_run"), "audit"
    ),
    **dict.fromkeys(("summary", "union"), "audit"),
    **dict.fromkeys(("NoteItem", "Resolved", "item_id", "items_of", "resolve"), "items"),
    **dict.fromkeys(("Ownership", "lift", "replay"), "ownership"),
    **dict.fromkeys(("NotUndoable", "Undone", "undo"), "undoing"),
    **dict.fromkeys(("Decision", "Rules", "decide", "why_stale"), "policy"),
    **dict.fromkeys(("Cut", "Revisions", "cut_audit", "cut_note", "cut_transcript"), "forgetting"),
    **dict.fromkeys(("Sought", "TextTooShort"), "sought"),
    **dict.fromkeys(("read_line", "read_record"), "reading"),
    **dict.fromkeys(("Fitted", "asked_about", "fitted"), "newer"),
    **dict.fromkeys(("Decisions", "add_to_inbox", "describe", "drop_from_inbox", "expired"), "inbox"),
    **dict.fromkeys(("read_inbox", "strike_in_inbox"), "inbox"),
    **dict.fromkeys(("Seen", "Verdict", "gone_back", "judge", "offered"), "buffers"),
    **dict.fromkeys(("ROLES", "Turn", "TurnChunk", "checked", "new_id", "own_scope", "read_dropped"), "turns"),
    **dict.fromkeys(("read_turn", "read_turns", "transcript_path", "turn_chunks", "turn_of"), "turns"),
    "union_of_turns": "turns",
    **dict.fromkeys(("Doubt", "Extraction", "FoundFact", "Memory"), "learned"),
    **dict.fromkeys(("CUT", "Excerpt", "Prompt"), "prompting"),
    "read_answer": "extraction",
    "apply_ops": "editing",
    "redact": "redaction",
    "unified": "diffs",
}


def __getattr__(name: str) -> object:
    """What writes is loaded when it is asked for: a search does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"vault_memory.memory.{_MODULES.get(name, 'ops')}"), name)
