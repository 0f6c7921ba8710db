"""`run`: the daemon, with one quiet line per change."""

import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.daemon import loop
    from vault_memory.daemon.loop import Change
    from vault_memory.edits.conflict_copy import Resolved
    from vault_memory.hosts import hook_command
else:
    loop = lazy_module("vault_memory.daemon.loop")
    hook_command = lazy_module("vault_memory.hosts.hook_command")


@click.command()
@common
@click.pass_obj
def run(context: Context) -> None:
    """Watch the vault and keep its index fresh, until stopped with Ctrl-C.

    Prints a line for each note that changed: its chunks added and removed, and the milliseconds it took. Prints a line
    for each conflict copy that was merged or thrown away.
    """
    with context.open() as memory:
        daemon = loop.Daemon(
            memory,
            tell=lambda change: _line(context, change),
            tell_copy=lambda resolved: _copy_line(context, resolved),
            calls={"hook": hook_command.serve},
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: daemon.stop())

        def ready() -> None:
            notes, chunks = memory.vault.indexing.index().counts()
            how = daemon.status()
            watched = how["mode"] + (f": {how['reason']}" if how["reason"] else "")
            context.say(
                f"watching {memory.root}: {notes} notes, {chunks} chunks ({watched})"
            )

        with context.progress() as progress:

            def told(what: str, done: int, total: int) -> None:
                daemon.tell_progress(done, total)
                if progress:
                    progress(what, done, total)

            with suppress(loop.Stopping):
                memory.refresh(told, renew=False)
        daemon.run(ready)
    context.say("stopped")


def _line(context: Context, change: "Change") -> None:
    if context.quiet:
        return
    what = "removed" if change.removed else f"+{change.delta.added}"
    context.line(
        f"{change.note}  {what} −{change.delta.removed} chunks  {change.milliseconds:.1f} ms"
    )


def _copy_line(context: Context, resolved: "Resolved") -> None:
    """What became of a conflict copy: nobody sees it otherwise, for it is gone from the folder."""
    if context.quiet:
        return
    name = resolved.copy.path.rpartition("/")[2]
    match resolved.outcome:
        case "merged":
            audit_id = resolved.edit.audit_id if resolved.edit else None
            how = f"; `vault-memory undo {audit_id}` takes it back" if audit_id else ""
            context.line(
                f"{resolved.copy.note}  merged the conflict copy `{name}`{how}"
            )
        case "discarded":
            context.line(
                f"{resolved.copy.note}  moved the conflict copy `{name}` to the trash: {resolved.copy.why}"
            )
        case _:
            return
