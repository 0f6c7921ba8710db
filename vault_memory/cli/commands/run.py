"""`run` and `index`: the daemon, with one line for each change, and one update of the index."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from vault_memory.addons import table
from vault_memory.api.checks import some
from vault_memory.cli import progress_bar, quick_start, root, screen, search_text
from vault_memory.cli.commands import history
from vault_memory.cli.layout_choice import layout_option, open_with_layout
from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import escaped, shown, writes_all_letters
from vault_memory.contract import as_json
from vault_memory.errors import UsageError
from vault_memory.service import daemon as daemon_process
from vault_memory.service import service_manager, service_vault

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits.conflict_copy import ResolvedConflict
    from vault_memory.search.note_reports import IndexReport
    from vault_memory.service.daemon import Daemon
    from vault_memory.service.service_manager import StopRequest
    from vault_memory.service.upkeep.note_indexer import PathChange


@click.command()
@layout_option
@click.option("--web", is_flag=True, help="Open the page, too; it ends with the daemon.")
@common
@click.pass_obj
def run(context: Context, layout: str | None, web: bool) -> None:
    """Run the daemon until Ctrl-C: watch the vault, and keep its index up to date.

    The daemon prints a line for each changed note: the chunks added and removed, and the
    time in milliseconds. It prints a line for each conflict copy that it settles, for each
    night, for each sync that moved something, and when it has embedded chunks.

    \b
    Example:
      vault-memory --vault ~/vault run
      vault-memory run --web
    """
    beside = table.part("page.page_commands").beside_daemon(context) if web else nullcontext
    stop = service_manager.StopRequest()
    while _watch(context, layout, stop, beside).must_reopen:
        context.say("the notes have another owner now: they are read again")
    context.say("stopped")


def _answer_hook(memory: "VaultMemory", event: Mapping[str, Any]) -> dict[str, Any]:
    """Answer an event of a program for a hook that found this daemon."""
    answer: dict[str, Any] = table.part("hosts.hook_command").serve(memory, event)
    return answer


@dataclass(slots=True)
class ServedContext(Context):
    """The context of a command that the daemon runs for another process: its output is an answer."""

    memory: "VaultMemory | None" = None
    out: str = ""
    """What goes to stdout"""
    err: str = ""
    """What goes to stderr"""

    def opened(self, marks: bool) -> "VaultMemory":
        """Open the vault of the daemon once more: the command closes it."""
        assert self.memory is not None
        return self.memory.fork()

    def text(self, text: str) -> None:
        """Write the text of a note."""
        self.out += text if text.endswith("\n") else f"{text}\n"

    def line(self, text: str, *, err: bool = False) -> None:
        """Write a line. A pipe gets no colours."""
        plain = click.unstyle(shown(text)) + "\n"
        if err:
            self.err += plain
        else:
            self.out += plain

    def say(self, line: str) -> None:
        """Write a remark, unless `--quiet` is set."""
        if not self.quiet:
            self.line(line, err=True)

    def screen(self) -> None:
        """The other process writes to no terminal."""

    def can_draw(self) -> bool:
        """Return false: nobody looks."""
        return False


def _answer_command(memory: "VaultMemory", call: Mapping[str, Any]) -> dict[str, Any]:
    """Run a command that only reads, and return what it prints. Raises UsageError."""
    name = call["command"]
    if name not in quick_start.READING or not writes_all_letters():
        raise UsageError(f"the daemon does not run `{name}`")
    # Fault: the daemon is behind the vault. To read all of it would keep other commands waiting.
    if not memory.vault.indexing.is_fresh():
        raise UsageError("the daemon has not caught up with the vault")
    context = ServedContext(memory=memory)
    command = root.cli.get_command(click.Context(root.cli), name)
    assert command is not None
    try:
        with command.make_context(name, list(call["words"]), obj=context) as place:
            command.invoke(place)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    return {"out": context.out, "err": context.err}


def _watch(context: Context, layout: str | None, stop: "StopRequest", beside: Any) -> "Daemon":
    """Watch the vault until a signal, or until it has to be opened again.

    While it is watched, the context manager is entered that `beside` returns for its folder.
    """
    with open_with_layout(context, layout) as memory, ExitStack() as companions:
        daemon = daemon_process.Daemon(
            memory,
            tell=lambda change: _print_change(context, change),
            tell_copy=lambda resolved: _print_copy(context, resolved),
            tell_work=lambda line: _print_work(context, line),
            calls={"hook": _answer_hook, "command": _answer_command},
        )
        # Fault: a signal between two daemons would reach the one that has ended.
        daemon.ending = stop
        stop.make_at_signals()
        memory.searcher.embedding_progress = progress_bar.progress_of(context)
        _refresh(context, memory, daemon)

        def ready() -> None:
            _say_ready(context, memory, daemon)
            companions.enter_context(beside(memory.root))

        daemon.run(ready)
        return daemon


def _refresh(context: Context, memory: "VaultMemory", daemon: "Daemon") -> None:
    """Index what changed while no daemon ran, with a progress bar."""
    with context.progress() as progress:

        def advance(step: str, completed: int, total: int) -> None:
            daemon.tell_progress(completed, total)
            if progress:
                progress(step, completed, total)

        # A signal during the first look ends it early; the loop then stops by itself.
        with suppress(service_vault.Stopping):
            memory.refresh(advance, renew=False)


def _say_ready(context: Context, memory: "VaultMemory", daemon: "Daemon") -> None:
    context.say(_ready_text(memory, daemon))
    # A service has no keys to press.
    if os.isatty(0):
        context.say("press Ctrl-C to stop")


def _print_work(context: Context, line: str) -> None:
    """Print a night, a sync or an embedding, with the time of day."""
    _print_cells(context, line, first=f"{datetime.now():%H:%M}  ")


def _ready_text(memory: "VaultMemory", daemon: "Daemon") -> str:
    notes, chunks = memory.vault.indexing.index().counts()
    status = daemon.status()
    mode = status["mode"]
    if status["reason"]:
        mode += f": {status['reason']}"
    return f"watching {memory.root}: {notes} notes, {chunks} chunks ({mode})"


def _print_change(context: Context, change: "PathChange") -> None:
    added = "removed" if change.removed else f"+{change.delta.added}"
    removed = f"−{change.delta.removed} chunks"
    duration = f"{change.milliseconds:.1f} ms"
    _print_cells(context, change.note, f"{added} {removed}", duration)


def _print_copy(context: Context, resolved: "ResolvedConflict") -> None:
    """Print what happened to a conflict copy, because it has left the folder."""
    copy = resolved.copy
    name = copy.path.rpartition("/")[2]
    match resolved.outcome:
        case "merged":
            audit_id = resolved.edit.audit_id if resolved.edit else None
            undo = f"; `vault-memory undo {audit_id}` takes it back" if audit_id else ""
            _print_cells(context, copy.note, f"merged the conflict copy `{name}`{undo}")
        case "discarded":
            _print_cells(
                context, copy.note, f"moved the conflict copy `{name}` to the trash: {copy.why}"
            )
        case _:
            return


def _print_cells(context: Context, *texts: str, first: str = "") -> None:
    """Print texts side by side; on a terminal, those that do not fit go to the next line."""
    if context.quiet:
        return
    terminal = context.screen()
    if terminal is None:
        context.line(first + "  ".join(texts))
        return
    escaped_texts = map(escaped, texts)
    lines = screen.wrapped_cells(escaped_texts, terminal.columns, first=first)
    context.line("\n".join(lines))


@click.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build a new index; searches use the old one until the new one is ready.",
)
@click.option("--no-embed", is_flag=True, help="Leave the vectors to the daemon.")
@layout_option
@common
@click.pass_obj
def index(
    context: Context, paths: tuple[str, ...], rebuild: bool, no_embed: bool, layout: str | None
) -> None:
    """Update the index for all notes, or for those under PATHS (relative to the vault)."""
    with open_with_layout(context, layout) as memory, context.progress() as progress:
        history.carry_out_pages(context, memory)
        report = memory.index(paths, rebuild=rebuild, embed=not no_embed, progress=progress)
        semantic = memory.vault.semantic
        lacks_embedder = not no_embed and semantic.embedder is None
        reason = semantic.reason if lacks_embedder else ""
        # A note that was removed is updated, too: its path has no note any more.
        checked_paths = () if report.removed else paths
        missing = _paths_without_notes(memory, checked_paths)
    context.emit(
        as_json(report),
        lambda: (
            f"{report.notes} notes: {report.changed} changed, {report.removed} removed; "
            f"chunks +{report.chunks_added} −{report.chunks_removed} ={report.chunks_kept}; "
            f"{report.embedded} embedded; {report.seconds:.2f} s"
        ),
    )
    if not context.json:
        for remark in _remarks(report):
            context.say(remark)
        if missing:
            listed = ", ".join(f"`{path}`" for path in missing)
            context.say(f"no note is at {listed}: `vault-memory notes` lists the notes")
        if reason:
            context.say(f"semantic: off ({reason})")
    # Fault: a script would take an index without some notes for complete.
    if report.missing_notes:
        raise click.exceptions.Exit(1)


def _remarks(report: "IndexReport") -> Iterator[str]:
    """Yield what a person should know about notes that are not indexed as others."""
    if report.missing_notes:
        yield search_text.TOO_MANY_FILES.format(report.missing_notes)
    if report.encodings:
        names = [f"{path} ({name})" for path, name in report.encodings.items()]
        yield f"not UTF-8, so that edits are refused: {some(names)}"


def _paths_without_notes(memory: "VaultMemory", paths: Sequence[str]) -> list[str]:
    """Return the paths at or below which there is no note."""
    if not paths:
        return []
    notes = [note.note for note in memory.notes()]
    missing = []
    for path in paths:
        folder = path.rstrip("/")
        if not any(note == folder or note.startswith(f"{folder}/") for note in notes):
            missing.append(path)
    return missing
