"""A bot's memory as a folder of Markdown that people edit by hand.

All that a bot in Python needs has its name here, and is loaded when it is first asked for.
"""

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from vault_memory.app import (
        ContextBlock,
        Cut,
        Ended,
        Freshness,
        IndexReport,
        NoteInfo,
        NoteText,
        Part,
        Recorded,
        SearchAnswer,
        VaultMemory,
    )
    from vault_memory.app.callers import Caller
    from vault_memory.app.forgetting import Forgotten
    from vault_memory.app.known import About, FactChange
    from vault_memory.app.memory_tool import MemoryTool, ToolAnswer
    from vault_memory.app.nights import Slept
    from vault_memory.app.remembering import Remembered
    from vault_memory.app.taking_back import TakenBack
    from vault_memory.config import Config
    from vault_memory.curate import Edit, NoteChanged
    from vault_memory.errors import NoteNotFound, UsageError, VaultMemoryError, VaultUnreachable
    from vault_memory.memory import Proposal, Record
    from vault_memory.memory.facts import Fact
    from vault_memory.recall import Hit

__version__ = "0.1.0.dev0"
"""As in pyproject.toml; read from here, because the metadata of packages takes 20 ms to load"""

__all__ = [
    "About",
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
    **dict.fromkeys(("About", "FactChange"), "app.known"),
    "Caller": "app.callers",
    "Config": "config",
    **dict.fromkeys(("Edit", "NoteChanged"), "curate"),
    **dict.fromkeys(("NoteNotFound", "UsageError", "VaultMemoryError", "VaultUnreachable"), "errors"),
    "Fact": "memory.facts",
    "Forgotten": "app.forgetting",
    "Hit": "recall",
    **dict.fromkeys(("MemoryTool", "ToolAnswer"), "app.memory_tool"),
    **dict.fromkeys(("Proposal", "Record"), "memory"),
    "Remembered": "app.remembering",
    "Slept": "app.nights",
    "TakenBack": "app.taking_back",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"vault_memory.{_MODULES.get(name, 'app')}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
