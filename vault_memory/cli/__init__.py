"""The command line: parses, calls, prints. Every command is imported only when it is run."""

import gc
import os
import sys

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from typing import NoReturn

    from vault_memory.cli.root import cli as cli

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Make a vault with example notes, or take a folder as one."),
    "demo": ("demo", "Show the whole loop once, on a copy of the sample vault."),
    "run": ("run", "Watch the vault and keep its index fresh, until stopped."),
    "index": ("index", "Bring the index up to date with the notes."),
    "search": ("search", "Find the lines that answer a question."),
    "context": ("context", "Print what a bot's prompt gets of the memory."),
    "read": ("notes", "Print a note as it is now, with its revision."),
    "notes": ("notes", "List the notes that search reads."),
    "append": ("edit", "Add an item to a section of a note."),
    "add-heading": ("edit", "Add a section with its items to a note."),
    "remove": ("edit", "Remove one item of a section."),
    "replace": ("edit", "Rewrite one item of a section."),
    "apply": ("edit", "Carry out ops from a JSON file."),
    "log": ("history", "Show what was changed, by whom, when and why."),
    "undo": ("history", "Take back what one record of the log did."),
    "history": ("history", "List the versions of a note that are kept."),
    "restore": ("history", "Put a version of a note there again."),
    "forget": ("forget", "Take a text out of everything that is kept, and make sure."),
    "record": ("record", "Record what somebody said, or the bot."),
    "end-session": ("record", "Say that a conversation is over."),
    "sleep": ("sleep", "Learn from what was said since the last night."),
    "remember": ("sleep", "Keep a text for good, at once."),
    "inbox": ("history", "List what waits for your decision, approve or reject it."),
    "conflicts": (
        "conflicts",
        "List copies that sync programs left beside notes, merge or discard them.",
    ),
    "sync": ("sync", "Bring the vault and its remote in step."),
    "remote": ("remote", "Set up the Nextcloud or WebDAV folder to keep in step with."),
    "trash": ("conflicts", "List what was thrown away, and bring it back."),
    "facts": ("facts", "List the facts that hold now."),
    "timeline": ("facts", "List all that is or was known of somebody or something."),
    "entity": ("facts", "Show who or what a name means, and where it is mentioned."),
    "add-fact": ("facts", "State a fact."),
    "correct": ("facts", "Put right a fact that was wrong from the start."),
    "invalidate": ("facts", "Strike a fact through that is no longer so."),
    "delete-fact": ("facts", "Take a fact off its page."),
    "confirm": ("facts", "Say that a fact is so."),
    "import": ("transfer", "Take in what another system knew."),
    "export": ("transfer", "Write all that is known as files and JSON Lines."),
    "install": ("hosts", "Plug the vault into a program that people talk to."),
    "hook": (
        "hosts",
        "Answer one event of such a program, which comes on standard input.",
    ),
    "mcp": (
        "mcp",
        "Give a model the memory of one person as MCP tools, over standard input and output.",
    ),
    "serve": ("serve", "Answer bots over HTTP, each with a token of its own."),
    "service": ("service_command", "Let systemd or launchd keep the daemon running."),
    "status": ("status", "Say what is indexed, watched and fresh."),
    "stats": ("status", "Count notes and chunks by kind and scope."),
    "doctor": ("status", "Look for everything that could be wrong."),
}
"""Name → the module below `vault_memory.cli.commands` that has it, and its line in the help."""


def __getattr__(name: str) -> object:
    if name == "cli":
        from vault_memory.cli.root import cli

        return cli
    raise AttributeError(name)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code."""
    gc.set_threshold(
        100_000
    )  # loading modules makes no garbage: looking for it takes a tenth of a short command
    given = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    code = _light(given)
    if code is None:
        from vault_memory.cli.root import run

        if arguments is None:
            sys.unraisablehook = _unraisable
        code = run(given)
    if arguments is None:
        _end(code)
    sys.exit(code)


def _end(code: int) -> "NoReturn":
    """All is done and closed: to take the modules apart would cost a short command a fifth of its time again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(code)


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that came within a callback of Python's own, which cannot raise, ends the command all the same."""
    if isinstance(what.exc_value, KeyboardInterrupt):
        os._exit(130)
    sys.__unraisablehook__(what)


def _light(given: list[str]) -> int | None:
    """The exit code of a command that needs no click; None when this is not such a command."""
    from vault_memory.cli import quick_start

    place = quick_start.place_of_command(given)
    if place is None:
        return None
    name, rest = given[place], given[:place] + given[place + 1 :]
    if name == "hook":
        # before anything else can fail: an exit code of it would stop the bot
        return quick_start.answer_hook(rest)
    if name == "mcp":
        return quick_start.serve_mcp(rest)
    if name in quick_start.OPS:
        return quick_start.edit(name, rest)
    if name in ("search", "context"):
        from vault_memory.cli import questions

        return questions.answer(name, rest)
    return None
