"""`sync`: the vault and its remote, brought in step."""

import signal
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, common
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.daemon import client, sync_thread
    from vault_memory.sync import connection
    from vault_memory.sync.engine import PassReport
    from vault_memory.sync.plan import safety_limits
    from vault_memory.sync.report import Remark, SyncReport
    from vault_memory.vault.watch import watcher as watch_watcher
else:
    json_contract = lazy_module("vault_memory.api.json_contract")
    client = lazy_module("vault_memory.daemon.client")
    sync_thread = lazy_module("vault_memory.daemon.sync_thread")
    connection = lazy_module("vault_memory.sync.connection")
    safety_limits = lazy_module("vault_memory.sync.plan.safety_limits")
    watch_watcher = lazy_module("vault_memory.vault.watch.watcher")

NEEDS_A_PERSON = 5
LATER = 75
TICK_SECONDS = 1.0
_DONE = (
    ("uploaded", "uploaded"),
    ("downloaded", "downloaded"),
    ("merged", "merged"),
    ("deleted_local", "deleted here"),
    ("deleted_remote", "deleted on the server"),
)


@click.command()
@click.option(
    "--once",
    is_flag=True,
    help="End when both sides are the same, as far as they can be.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)
@click.option(
    "--approve-deletes", is_flag=True, help="Let the deletes go that are held, once."
)
@click.option(
    "--approve-restore",
    is_flag=True,
    help="Take over the earlier texts of the server that are held, once.",
)
@click.option(
    "--refuse-restore",
    is_flag=True,
    help="Put your texts up again over the earlier ones that are held.",
)
@common
@click.pass_obj
def sync(
    context: Context,
    once: bool,
    dry_run: bool,
    approve_deletes: bool,
    approve_restore: bool,
    refuse_restore: bool,
) -> int:
    """Bring the vault and the remote of `[remote]` in step. Without `--once`, go on until stopped with Ctrl-C.

    \b
    Exit codes with --once: 0 when both are in step, 5 when deletes or earlier texts are held for you to approve
    or a conflict is open, 75 when something waits or failed, 4 when the server cannot be reached, 3 when it
    refuses the password or another program keeps the folder in step.

    A running daemon syncs by itself; `sync` without `--once` then tells it to do so now.
    """
    if approve_restore and refuse_restore:
        raise UsageError(
            "`--approve-restore` and `--refuse-restore` say the opposite of each other",
            hint="give one of the two",
        )
    with context.open() as memory:
        if not (
            once or dry_run or approve_deletes or approve_restore or refuse_restore
        ):
            return _go_on(context, memory)
        with context.progress() as progress:
            report = memory.sync(
                dry_run=dry_run,
                approve_deletes=approve_deletes,
                approve_restore=approve_restore,
                refuse_restore=refuse_restore,
                progress=progress,
                now=context.now,
            )
    context.emit(
        json_contract.of_sync(report), lambda: "\n".join(_lines(report, dry_run))
    )
    if dry_run and not context.json:
        context.say("nothing was written")
    if report.held or (report.open_conflicts and not dry_run):
        return NEEDS_A_PERSON
    return LATER if (report.waiting or report.failed) and not dry_run else 0


def _go_on(context: Context, memory: "VaultMemory") -> int:
    """In the foreground, or by the daemon that runs."""
    if not memory.vault.config.remote.url:
        raise connection.NoRemote
    answer = client.ask(memory.vault.state.socket, "sync", {})
    if answer is not None:
        context.emit(answer, lambda: f"the daemon syncs: {_told(answer['sync'])}")
        return 0
    memory.sync.connection()
    memory.sync.close()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    watch = memory.vault.config.watch
    watcher = watch_watcher.Watcher(
        memory.root, poll_seconds=watch.poll_seconds, sweep_seconds=watch.sweep_seconds
    )
    watcher.start()
    syncing = sync_thread.Syncing(
        memory.fork(), tell=lambda report: _line(context, report)
    )
    context.say(f"syncing {memory.root} with {memory.vault.config.remote.url}")
    reason = ""
    try:
        while not ended.is_set():
            if watcher.take(TICK_SECONDS):
                syncing.heard()
            standing = syncing.status() or {}
            if standing.get("reason") and standing["reason"] != reason:
                context.say(f"{standing['state']}: {standing['reason']}")
            reason = str(standing.get("reason", ""))
    finally:
        syncing.close()
        watcher.stop()
    context.say("stopped")
    return 0


def _told(standing: Mapping[str, Any] | None) -> str:
    if standing is None:
        return "it has no remote yet"
    return f"{standing['state']}" + (
        f", {standing['reason']}" if standing["reason"] else ""
    )


def _line(context: Context, report: "PassReport") -> None:
    if not context.quiet:
        context.line(_counted({name: getattr(report, name) for name, _ in _DONE}))


def _counted(counts: Mapping[str, int]) -> str:
    done = [f"{counts[name]} {words}" for name, words in _DONE if counts[name]]
    return ", ".join(done) or "nothing to do"


def _lines(report: "SyncReport", dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield from (f"would {one.reason}: {one.path}" for one in report.planned)
        if not report.planned:
            yield "nothing to do"
    else:
        requests = (
            "1 request" if report.requests == 1 else f"{report.requests} requests"
        )
        yield f"{_counted({name: getattr(report, name) for name, _ in _DONE})} ({requests})"
    yield from (f"conflict copy: {copy}" for copy in report.copies)
    yield from _remarks("skipped", report.skipped)
    yield from _remarks("waiting", report.waiting)
    yield from _remarks("failed", report.failed)
    yield from _remarks("look at", report.notes)
    yield from _remarks("held", report.held)
    if report.open_conflicts and not dry_run:
        yield from (f"open conflict: {path}" for path in report.open_conflicts)
        yield "`vault-memory conflicts` shows what differs and settles it; a copy that is no note, delete or rename"
    yield from _ways_out(report)


def _ways_out(report: "SyncReport") -> Iterator[str]:
    """How a person answers what is held."""
    earlier = [one for one in report.held if one.reason.endswith(safety_limits.OLDER)]
    if len(earlier) < len(report.held):
        yield "if that is meant: `vault-memory sync --approve-deletes`"
    if earlier:
        yield "if the server is right: `vault-memory sync --approve-restore`"
        yield "if your notes here are right: `vault-memory sync --refuse-restore` puts them up again"


def _remarks(word: str, remarks: "tuple[Remark, ...]") -> Iterator[str]:
    yield from (
        f"{word}: {one.path + ': ' if one.path else ''}{one.reason}" for one in remarks
    )
