"""A bot's memory as a folder of Markdown that people edit by hand.

All that a bot in Python needs has its name here, and is loaded when it is first asked for.
"""

import sys

from vault_memory.lazy import lazy_members

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from vault_memory.api.async_vault import AsyncVaultMemory
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.config.sections import Config
    from vault_memory.context.blocks import ContextBlock, Cut, Part
    from vault_memory.conversations.calls import Recorded
    from vault_memory.edits.edit_errors import NoteChanged
    from vault_memory.edits.edit_result import Edit
    from vault_memory.edits.reports import Ended
    from vault_memory.errors import NoteNotFound, UsageError, VaultMemoryError, VaultUnreachable
    from vault_memory.facts.entity_info import About, FactChange
    from vault_memory.forgetting.forget_text import Forgotten
    from vault_memory.forgetting.retract import TakenBack
    from vault_memory.learning.remember import Remembered
    from vault_memory.learning.runner import Slept
    from vault_memory.memory_tool.tool import MemoryTool, ToolAnswer
    from vault_memory.rules.edits.audit_record import Proposal, Record
    from vault_memory.rules.facts.fact import Fact
    from vault_memory.rules.paths.scopes import Caller
    from vault_memory.search.freshness import Freshness, SearchAnswer
    from vault_memory.search.note_reports import IndexReport, NoteInfo, NoteText
    from vault_memory.search.results import Hit

__version__ = "0.2.0"
"""As in pyproject.toml; read from here, because the metadata of packages takes 20 ms to load"""

__all__ = [
    "About",
    "AsyncVaultMemory",
    "Caller",
    "Config",
    "ContextBlock",
    "Cut",
    "Edit",
    "Ended",
    "Fact",
    "FactChange",
    "Forgotten",
    "Freshness",
    "Hit",
    "IndexReport",
    "MemoryTool",
    "NoteChanged",
    "NoteInfo",
    "NoteNotFound",
    "NoteText",
    "Part",
    "Proposal",
    "Record",
    "Recorded",
    "Remembered",
    "SearchAnswer",
    "Slept",
    "TakenBack",
    "ToolAnswer",
    "UsageError",
    "VaultMemory",
    "VaultMemoryError",
    "VaultUnreachable",
]

_MODULES = {
    "About": "facts.entity_info",
    "AsyncVaultMemory": "api.async_vault",
    "Caller": "rules.paths.scopes",
    "Config": "config.sections",
    "ContextBlock": "context.blocks",
    "Cut": "context.blocks",
    "Edit": "edits.edit_result",
    "Ended": "edits.reports",
    "Fact": "rules.facts.fact",
    "FactChange": "facts.entity_info",
    "Forgotten": "forgetting.forget_text",
    "Freshness": "search.freshness",
    "Hit": "search.results",
    "IndexReport": "search.note_reports",
    "MemoryTool": "memory_tool.tool",
    "NoteChanged": "edits.edit_errors",
    "NoteInfo": "search.note_reports",
    "NoteNotFound": "errors",
    "NoteText": "search.note_reports",
    "Part": "context.blocks",
    "Proposal": "rules.edits.audit_record",
    "Record": "rules.edits.audit_record",
    "Recorded": "conversations.calls",
    "Remembered": "learning.remember",
    "SearchAnswer": "search.freshness",
    "Slept": "learning.runner",
    "TakenBack": "forgetting.retract",
    "ToolAnswer": "memory_tool.tool",
    "UsageError": "errors",
    "VaultMemory": "api.vault_memory",
    "VaultMemoryError": "errors",
    "VaultUnreachable": "errors",
}

_member = lazy_members(__name__, _MODULES)


def __getattr__(name: str) -> object:
    # Fault: without this, Windows would answer with a module that is missing.
    if sys.platform == "win32" and name in ("MemoryTool", "VaultMemory"):
        raise _member("errors").SystemUnsupported
    return _member(name)


def __dir__() -> list[str]:
    return sorted(globals() | _MODULES)
