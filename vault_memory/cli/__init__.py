"""The command line. A command is imported only when it runs."""

import gc
import os
import sys

from vault_memory import errors
from vault_memory.lazy import lazy_members

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from typing import NoReturn

    from vault_memory.cli.root import COMMANDS as COMMANDS
    from vault_memory.cli.root import cli as cli

__all__ = ["COMMANDS", "cli", "main"]


__getattr__ = lazy_members(__name__, {"COMMANDS": "root", "cli": "root"})


def main(arguments: list[str] | None = None) -> None:
    """Run one command, and exit with its code."""
    # Imports create no garbage; collecting during them takes a tenth of a short command.
    gc.set_threshold(100_000)
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if sys.platform == "win32":
        _refuse_system(is_json="--json" in words)
    code = _run_without_click(words)
    if code is None:
        from vault_memory.cli.root import run

        if arguments is None:
            sys.unraisablehook = _handle_unraisable
        code = run(words)
    if arguments is None:
        _end(code)
    sys.exit(code)


def _refuse_system(*, is_json: bool) -> "NoReturn":
    """End with one sentence, before anything is imported that this system lacks."""
    import json

    error = errors.SystemUnsupported()
    if is_json:
        print(json.dumps({"error": error.as_json()}, indent=2))
    else:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
    sys.exit(error.exit_code)


def _end(code: int) -> "NoReturn":
    """End the process at once: unloading all modules takes a fifth of a short command."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # The stream is closed, or its reader or disk is gone: the other still flushes.
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

    if words[0] == "__complete":
        return quick_start.complete(words[1:])
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
    if name == "record":
        return quick_start.record(arguments)
    if name in quick_start.READING:
        return quick_start.read(name, arguments)
    return None
