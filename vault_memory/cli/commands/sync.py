"""`sync`: syncs the vault with the folder on its server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from vault_memory.api import daemon_client, json_contract
from vault_memory.cli.options import Context, common, dry_run, grouped
from vault_memory.errors import UsageError
from vault_memory.service import service_manager, sync_turns, turn_lane
from vault_memory.sync import connection
from vault_memory.sync.plan import safety_limits
from vault_memory.vault.watch import watcher as watch_watcher

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.contract.setup_answers import SyncRequestedJson
    from vault_memory.contract.status_answers import SyncStatusJson
    from vault_memory.sync.pass_report import PassReport
    from vault_memory.sync.report import Remark, SyncReport

NEEDS_A_PERSON = 5
LATER = 75
TICK_SECONDS = 1.0
_COUNTS = (
    ("uploaded", "uploaded"),
    ("downloaded", "downloaded"),
    ("merged", "merged"),
    ("deleted_local", "deleted here"),
    ("deleted_remote", "deleted on the server"),
    ("renamed_local", "renamed here"),
    ("renamed_remote", "renamed on the server"),
)
"""Field of a report → its words"""


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """Whether to run one pass, and what a person decides about held changes."""

    once: bool
    dry_run: bool
    approve_deletes: bool
    approve_restore: bool
    refuse_restore: bool

    @property
    def runs_once(self) -> bool:
        """Return whether a single pass is asked for, directly or by a decision."""
        decides = self.approve_deletes or self.approve_restore or self.refuse_restore
        return self.once or self.dry_run or decides


@click.command()
@click.option(
    "--once", is_flag=True, help="Stop when both sides are the same, as far as that is possible."
)
@dry_run
@click.option("--approve-deletes", is_flag=True, help="Approve the deletes that are held, once.")
@click.option(
    "--approve-restore", is_flag=True, help="Accept the earlier texts that are held, once."
)
@click.option(
    "--refuse-restore",
    is_flag=True,
    help="Keep the newer texts instead of the earlier ones that are held.",
)
@common
@click.pass_obj
@grouped(SyncOptions, "options")
def sync(context: Context, options: SyncOptions) -> int:
    """Sync the vault with the server of `[remote]`, until Ctrl-C or, with --once, one time.

    If a daemon runs, `sync` without --once only asks it to sync now.

    \b
    Exit codes with --once:
      0   both sides are the same
      3   the server refuses the password, or another program syncs this folder
      4   the server cannot be reached
      5   held deletes, held earlier texts or a conflict need your decision
      75  something waits or failed; run the command again later

    \b
    Example:
      vault-memory sync --once --dry-run
    """
    if options.approve_restore and options.refuse_restore:
        raise UsageError(
            "`--approve-restore` and `--refuse-restore` contradict each other",
            hint="give one of the two",
        )
    with context.open() as memory:
        if not options.runs_once:
            return _sync_until_stopped(context, memory)
        with context.progress() as progress:
            report = memory.sync(
                dry_run=options.dry_run,
                approve_deletes=options.approve_deletes,
                approve_restore=options.approve_restore,
                refuse_restore=options.refuse_restore,
                progress=progress,
                now=context.now,
            )
    context.emit(json_contract.of_sync(report), lambda: "\n".join(_lines(report, options.dry_run)))
    if options.dry_run and not context.json:
        context.say("nothing was written")
    return _exit_code(report, options.dry_run)


def _exit_code(report: "SyncReport", dry_run: bool) -> int:
    if report.held:
        return NEEDS_A_PERSON
    if dry_run:
        return 0
    if report.open_conflicts:
        return NEEDS_A_PERSON
    if report.waiting or report.failed:
        return LATER
    return 0


def _sync_until_stopped(context: Context, memory: "VaultMemory") -> int:
    """Ask the daemon to sync now; without one, sync in the foreground until a signal."""
    if not memory.vault.config.remote.url:
        raise connection.NoRemote
    reply = daemon_client.ask(memory.vault.state.socket, "sync", {})
    if reply is not None:
        answer = cast("SyncRequestedJson", reply)
        state = _state(answer["sync"])
        context.emit(answer, lambda: f"the daemon syncs: {state}")
        return 0
    # Opened once here, so that a wrong configuration ends the command.
    memory.sync.connection()
    memory.sync.close()
    _sync_in_foreground(context, memory)
    return 0


def _sync_in_foreground(context: Context, memory: "VaultMemory") -> None:
    stop = service_manager.StopRequest()
    stop.make_at_signals()
    watcher = watch_watcher.Watcher(memory.root, memory.vault.config.watch)
    lane = turn_lane.TurnLane("sync", 1)
    syncing = sync_turns.SyncTurns(
        memory.fork(),
        tell=lambda report: _print_counts(context, report),
        wake=lambda: lane.plan(job),
    )
    # The configuration and the password file may change.
    job = turn_lane.TurnJob(lambda: min(syncing.sync_turn(), sync_turns.LOOK_SECONDS))
    watcher.start()
    lane.start()
    lane.plan(job)
    context.say(f"syncing {memory.root} with {memory.vault.config.remote.url}")
    reported = ""
    try:
        with stop.waking(watcher.wake):
            while not stop.is_made():
                if watcher.take(TICK_SECONDS):
                    syncing.note_vault_change()
                status = syncing.status()
                reason = status["reason"] if status else ""
                if status and reason and reason != reported:
                    context.say(f"{status['state']}: {reason}")
                reported = reason
    finally:
        syncing.stop()
        lane.stop()
        # A server that does not answer must not hold the end up.
        if lane.join(sync_turns.PATIENCE_SECONDS):
            syncing.close()
        watcher.stop()
    context.say("stopped")


def _state(status: "SyncStatusJson | None") -> str:
    if status is None:
        return "it has no remote yet"
    if status["reason"]:
        return f"{status['state']}, {status['reason']}"
    return status["state"]


def _print_counts(context: Context, report: "PassReport") -> None:
    if not context.quiet:
        context.line(_counts_text(report))


def _counts_text(report: "PassReport | SyncReport") -> str:
    counts = [(getattr(report, name), words) for name, words in _COUNTS]
    return ", ".join(f"{n} {words}" for n, words in counts if n) or "nothing to do"


def _lines(report: "SyncReport", dry_run: bool) -> Iterator[str]:
    if dry_run:
        planned = [f"would {action.reason}: {action.path}" for action in report.planned]
        yield from planned or ["nothing to do"]
    else:
        unit = "request" if report.requests == 1 else "requests"
        yield f"{_counts_text(report)} ({report.requests} {unit})"
    for copy in report.copies:
        yield f"conflict copy: {copy}"
    yield from _remarks("skipped", report.skipped)
    yield from _remarks("waiting", report.waiting)
    yield from _remarks("failed", report.failed)
    yield from _remarks("look at", report.notes)
    yield from _remarks("held", report.held)
    if report.open_conflicts and not dry_run:
        yield from (f"open conflict: {path}" for path in report.open_conflicts)
        yield (
            "`vault-memory conflicts` shows the differences and settles them; "
            "delete or rename a copy that is not a note"
        )
    yield from _decisions(report)


def _decisions(report: "SyncReport") -> Iterator[str]:
    """Yield the commands with which a person decides about held changes."""
    restored = [remark for remark in report.held if remark.reason.endswith(safety_limits.OLDER)]
    older_here = [
        remark for remark in report.held if remark.reason.endswith(safety_limits.OLDER_HERE)
    ]
    if len(restored) + len(older_here) < len(report.held):
        yield "to approve: `vault-memory sync --approve-deletes`"
    if restored:
        yield "if the server is right: `vault-memory sync --approve-restore`"
        yield "if your notes are right: `vault-memory sync --refuse-restore` uploads them again"
    if older_here:
        yield "if the earlier texts are right: `vault-memory sync --approve-restore`"
        yield "if not: `vault-memory sync --refuse-restore` brings the newer ones back"


def _remarks(label: str, remarks: "tuple[Remark, ...]") -> Iterator[str]:
    for remark in remarks:
        path = f"{remark.path}: " if remark.path else ""
        yield f"{label}: {path}{remark.reason}"
