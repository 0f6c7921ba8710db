"""The command line. A command is imported only when it runs."""

import gc
import os
import sys

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from typing import NoReturn

    from vault_memory.cli.root import cli as cli

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Create a vault, or use an existing folder as one."),
    "demo": (
        "demo",
        "Show search, editing and learning on a copy of the sample vault.",
    ),
    "run": ("run", "Run the daemon: watch the vault, and keep its index up to date."),
    "index": ("index", "Update the index once."),
    "search": ("search", "Find the lines that answer a question."),
    "context": ("context", "Print the memory that a bot gets for a prompt."),
    "read": ("notes", "Print a note and its revision."),
    "notes": ("notes", "List the notes that search reads."),
    "append": ("edit", "Add an item to a section of a note."),
    "add-heading": ("edit", "Add a section with its items to a note."),
    "remove": ("edit", "Remove one item of a section."),
    "replace": ("edit", "Rewrite one item of a section."),
    "apply": ("edit", "Apply the ops of a JSON file to a note."),
    "log": ("history", "Show which changes were made, by whom, when and why."),
    "undo": ("history", "Undo the change of one audit record."),
    "history": ("history", "List the stored versions of a note."),
    "restore": ("history", "Restore an earlier version of a note."),
    "forget": (
        "forget",
        "Remove a text from everything that is stored, and verify it.",
    ),
    "record": ("record", "Record a turn of a conversation."),
    "end-session": ("record", "End a conversation."),
    "sleep": ("sleep", "Learn from the conversations since the last night."),
    "remember": ("sleep", "Store a text permanently, without waiting for the night."),
    "inbox": ("history", "List the bot's proposals; approve or reject one."),
    "conflicts": (
        "conflicts",
        "List conflict copies of sync programs; merge or discard them.",
    ),
    "sync": ("sync", "Sync the vault with its server."),
    "remote": ("remote", "Set up sync with a Nextcloud or another WebDAV server."),
    "trash": ("conflicts", "List deleted notes; restore one."),
    "facts": ("facts", "List the current facts."),
    "timeline": (
        "facts",
        "List all facts about a person or thing, past ones included.",
    ),
    "entity": ("facts", "Show what is known about a person or thing."),
    "add-fact": ("facts", "Add a fact."),
    "correct": ("facts", "Correct a fact that was never true."),
    "invalidate": ("facts", "End a fact that is no longer true."),
    "delete-fact": ("facts", "Delete a fact."),
    "confirm": ("facts", "Confirm a fact, so that it does not fade."),
    "import": ("transfer", "Import the memory of another system."),
    "export": ("transfer", "Export the vault as files and JSON Lines."),
    "install": ("hosts", "Connect the vault to a program such as Claude Code."),
    "hook": ("hosts", "Answer one event of such a program, read from standard input."),
    "mcp": ("mcp", "Serve the memory of one person as MCP tools over standard input."),
    "serve": ("serve", "Serve bots over HTTP, each with its own token."),
    "service": ("service_command", "Let systemd or launchd run the daemon."),
    "status": ("status", "Show the state of index, watcher, sync and nights."),
    "stats": ("status", "Count notes and chunks by kind and scope."),
    "doctor": ("status", "Check the installation and the vault for problems."),
}
"""Command → its module below `vault_memory.cli.commands`, and its line in the help"""


def __getattr__(name: str) -> object:
    if name == "cli":
        from vault_memory.cli.root import cli

        return cli
    raise AttributeError(name)


def main(arguments: list[str] | None = None) -> None:
    """Run one command, and exit with its code."""
    # Imports create no garbage; collecting during them takes a tenth of a short command.
    gc.set_threshold(100_000)
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    code = _run_without_click(words)
    if code is None:
        from vault_memory.cli.root import run

        if arguments is None:
            sys.unraisablehook = _handle_unraisable
        code = run(words)
    if arguments is None:
        _end(code)
    sys.exit(code)


def _end(code: int) -> "NoReturn":
    """End the process at once: unloading all modules takes a fifth of a short command."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(code)


def _handle_unraisable(event: "sys.UnraisableHookArgs") -> None:
    # Ctrl-C inside a callback of the interpreter cannot raise there; it must still end the command.
    if isinstance(event.exc_value, KeyboardInterrupt):
        os._exit(130)
    sys.__unraisablehook__(event)


def _run_without_click(words: list[str]) -> int | None:
    """Run a command that starts without click, and return its exit code.

    None means that the full command line has to run.
    """
    from vault_memory.cli import quick_start

    index = quick_start.index_of_command(words)
    if index is None:
        return None
    name = words[index]
    arguments = words[:index] + words[index + 1 :]
    if name == "hook":
        # A hook comes first: any other exit code than its own would stop the bot.
        return quick_start.answer_hook(arguments)
    if name == "mcp":
        return quick_start.serve_mcp(arguments)
    if name in quick_start.OPS:
        return quick_start.edit(name, arguments)
    if name in ("search", "context"):
        from vault_memory.cli import questions

        return questions.answer(name, arguments)
    return None
