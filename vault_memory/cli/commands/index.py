"""`index`: updates the index, and embeds new text before it returns."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.api.checks import some
from vault_memory.cli import search_text
from vault_memory.cli.commands.everyday import inbox_review
from vault_memory.cli.layout_choice import layout_option, open_with_layout
from vault_memory.cli.options import Context, common
from vault_memory.contract import as_json

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.search.note_reports import IndexReport


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
        inbox_review.carry_out_pages(context, memory)
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
