"""`import` and `export`: memory from other systems, and the vault for other programs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, cast

import click

from vault_memory.cli.options import Context, NamedScopes, common, scoped
from vault_memory.cli.rendering import coloured_diff
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.addons.transfer.chat_report import ChatImportJson, ChatReport, Program
    from vault_memory.addons.transfer.exporter import ExportReport
    from vault_memory.addons.transfer.import_report import ImportReport
    from vault_memory.contract.setup_answers import ExportJson, ImportJson
    from vault_memory.contract.status_answers import PathRemarkJson

EXPORT_FOLDER = "vault-memory-export"


BUNDLE: "Literal['okf']" = "okf"
PROGRAMS = ("chatgpt", "claude")
"""Programs whose conversations are imported"""


@click.command("import")
@click.argument("source")
@click.argument("file", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be imported; write nothing.")
@scoped
@common
@click.pass_obj
def import_(
    context: Context, source: str, file: str | None, dry_run: bool, scopes: NamedScopes
) -> int:
    """Import the memory in SOURCE. SOURCE itself is only read.

    \b
    SOURCE is one of these:
      a database of Istota           facts go to FACTS.md, texts to the note of their day
      a workspace of OpenClaw or     its files are copied; a file that differs from the note
      Hermes                         of its name becomes a conflict copy
      a CLAUDE.md                    becomes SOUL.md
      the SOUL.md of the vault       its sections `Session Compaction …` move to MEMORY.md
      chatgpt FILE, claude FILE      conversations go to the transcripts of --user, or of
                                     --channel; FILE is the export, a zip or a folder
      okf FOLDER                     the concepts of a bundle become notes

    Text that the vault has is not added again. Exit code 1 means that something was skipped.

    \b
    Example:
      vault-memory import ~/istota/memory.db --dry-run
    """
    is_bundle = source == BUNDLE and file is not None
    if not is_bundle and (file is not None or source in PROGRAMS):
        return _import_chats(context, source, file, dry_run, scopes)
    with context.open(makes_names=not dry_run) as memory:
        report = memory.transfer.import_from(
            file or source,
            scopes=scopes.names() or None,
            now=context.now,
            dry_run=dry_run,
            format=BUNDLE if is_bundle else "",
        )
    context.emit(_import_json(report), lambda: "\n".join(_import_lines(report, dry_run)))
    return 1 if report.skipped else 0


def _import_chats(
    context: Context, program: str, file: str | None, dry_run: bool, scopes: NamedScopes
) -> int:
    """Import the conversations of an export."""
    if program not in PROGRAMS:
        raise UsageError(
            f"conversations of {program!r} cannot be imported",
            hint=f"name one of {', '.join(PROGRAMS)}, or {BUNDLE} for a bundle",
        )
    if file is None:
        raise UsageError(
            "the file of the export is missing", hint=f"write `vault-memory import {program} FILE`"
        )
    # Fault: a turn is recorded once. With two names it would be a guess whose it is.
    if scopes.groups or len(scopes.users) > 1 or len(scopes.channels) > 1:
        raise UsageError(
            "conversations go to one person, or to one channel",
            hint="name one `--user`, one `--channel`, or both",
        )
    with context.open(makes_names=not dry_run) as memory:
        report = memory.transfer.import_chats(
            cast("Program", program),
            file,
            user="".join(scopes.users),
            channel="".join(scopes.channels),
            dry_run=dry_run,
        )
    context.emit(_chats_json(report), lambda: "\n".join(_chats_lines(report, dry_run)))
    return 1 if report.skipped else 0


def _chats_json(report: "ChatReport") -> "ChatImportJson":
    return {
        "conversations": report.conversations,
        "turns": report.turns,
        "known": report.known,
        "first": report.first.isoformat() if report.first else None,
        "last": report.last.isoformat() if report.last else None,
        "left": dict(report.left),
        "skipped": _skipped_json(report),
    }


def _chats_lines(report: "ChatReport", dry_run: bool) -> Iterator[str]:
    verb = "would import" if dry_run else "imported"
    days = f", {report.first} to {report.last}" if report.first else ""
    counts = f"{report.turns} turns; {report.known} known already"
    yield f"{verb} {counts}; {report.conversations} conversations{days}"
    for reason, count in sorted(report.left.items()):
        yield f"left out {count} messages {reason}"
    for skipped in report.skipped:
        yield f"skipped {skipped.path}: {skipped.reason}"
    if report.turns and not dry_run:
        yield "the next nights learn from them, the oldest first; `vault-memory sleep` begins now"


def _import_json(report: "ImportReport") -> "ImportJson":
    return {
        "facts": report.facts,
        "items": report.items,
        "known": report.known,
        "notes": report.notes,
        "copies": report.copies,
        "left": report.left,
        "skipped": _skipped_json(report),
        "moved": report.moved,
        "diff": report.diff,
    }


def _import_lines(report: "ImportReport", dry_run: bool) -> Iterator[str]:
    yield f"{_summary(report, dry_run)}; {report.known} known already"
    for note in report.notes:
        yield f"  {note}"
    for copy in report.copies:
        yield f"conflict copy {copy}"
    for path in report.left:
        yield f"left out {path}: it is not memory"
    for skipped in report.skipped:
        yield f"skipped {skipped.path}: {skipped.reason}"
    if report.diff:
        yield coloured_diff(report.diff)


def _summary(report: "ImportReport", dry_run: bool) -> str:
    if report.moved:
        verb = "would move" if dry_run else "moved"
        return f"{verb} {report.moved} sections"
    verb = "would import" if dry_run else "imported"
    notes = f"{len(report.notes)} notes"
    if report.facts or report.items:
        return f"{verb} {report.facts} facts and {report.items} items into {notes}"
    return f"{verb} {notes}"


@click.command()
@click.argument("path", required=False)
@click.option(
    "--to",
    "target",
    metavar="PATH",
    default=EXPORT_FOLDER,
    show_default=True,
    help="The new folder, or a new file that ends in `.jsonl`.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice([BUNDLE]),
    help="Write the notes as a bundle of the Open Knowledge Format.",
)
@scoped
@common
@click.pass_obj
def export(
    context: Context,
    path: str | None,
    target: str,
    format_: "Literal['okf'] | None",
    scopes: NamedScopes,
) -> int:
    """Export all notes, transcripts and audit logs as they are, with `memory.jsonl`.

    `memory.jsonl` has one line of JSON for each item, fact and turn. A PATH that ends in
    `.jsonl` gets only these lines. The command overwrites nothing. Exit code 1 means that a
    file could not be read; the others are exported. --to can be left out before PATH.

    \b
    Example:
      vault-memory export --to ~/backup/memory --user mira
    """
    target = path or target
    with context.open() as memory:
        report = memory.transfer.export(target, scopes=scopes.names() or None, format=format_ or "")
    context.emit(_export_json(report), lambda: "\n".join(_export_lines(report, target)))
    return 1 if report.skipped else 0


def _export_json(report: "ExportReport") -> "ExportJson":
    return {
        "target": str(report.target),
        "files": report.files,
        "bytes": report.bytes,
        "records": report.records,
        "skipped": _skipped_json(report),
    }


def _skipped_json(report: "ChatReport | ExportReport | ImportReport") -> "list[PathRemarkJson]":
    return [{"path": file.path, "reason": file.reason} for file in report.skipped]


def _export_lines(report: "ExportReport", target: str) -> Iterator[str]:
    size = f"{report.bytes:,} bytes"
    yield f"{report.files} files, {size}, {report.records} records: {target}"
    for skipped in report.skipped:
        yield f"skipped {skipped.path}: {skipped.reason}"
