"""`import` and `export`: what another system knew, and everything that is known, to take it elsewhere."""

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped
from vault_memory.cli.rendering import coloured_diff

NAME = "vault-memory-export"


@click.command("import")
@click.argument("source")
@click.option(
    "--dry-run", is_flag=True, help="Show what would come in; nothing is written."
)
@scoped
@common
@click.pass_obj
def import_(
    context: Context,
    source: str,
    dry_run: bool,
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
) -> int:
    """Take in what SOURCE knows, and only read it: a database of Istota, the workspace folder of OpenClaw or Hermes, or
    a CLAUDE.md, which becomes SOUL.md. From the vault's own SOUL.md the sections headed `Session Compaction …` move to
    MEMORY.md.

    Facts of a database go to FACTS.md, texts to the note of their day, else to a note of their own. Files are copied as
    they are; where the vault says something else, into a conflict copy. What is known is not added again. Exit code 1
    when something could not be taken.
    """
    with context.open() as memory:
        done = memory.transfer.import_from(
            source,
            scopes=named_scopes(users, channels, groups) or None,
            now=context.now,
            dry_run=dry_run,
        )
    skipped = [{"path": one.path, "reason": one.reason} for one in done.skipped]
    answer = {
        "facts": done.facts,
        "items": done.items,
        "known": done.known,
        "notes": done.notes,
    }
    answer |= {
        "copies": done.copies,
        "left": done.left,
        "skipped": skipped,
        "moved": done.moved,
        "diff": done.diff,
    }
    would = "would take" if dry_run else "took"
    what = f"{done.facts} facts and {done.items} items into {len(done.notes)} notes"
    if not done.facts + done.items:
        what = f"{len(done.notes)} notes"
    if done.moved:
        would, what = "would move" if dry_run else "moved", f"{done.moved} sections"
    lines = [f"{would} {what}; {done.known} known already"]
    lines += [f"  {note}" for note in done.notes]
    lines += [f"conflict copy {copy}" for copy in done.copies]
    lines += [f"left {path}: it is no memory" for path in done.left]
    lines += [f"skipped {one.path}: {one.reason}" for one in done.skipped]
    lines += [coloured_diff(done.diff)] if done.diff else []
    context.emit(answer, lambda: "\n".join(lines))
    return 1 if done.skipped else 0


@click.command()
@click.option(
    "--to",
    "target",
    metavar="PATH",
    default=NAME,
    show_default=True,
    help="A folder, or a file.jsonl.",
)
@scoped
@common
@click.pass_obj
def export(
    context: Context,
    target: str,
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
) -> int:
    """Write all notes, transcripts and records as they are, and `memory.jsonl`, in which each item, fact and turn is a
    line of JSON. Into a PATH that ends in `.jsonl` only the latter is written. Nothing is overwritten.

    Exit code 1 when a file could not be read; the others are there.
    """
    with context.open() as memory:
        done = memory.transfer.export(
            target, scopes=named_scopes(users, channels, groups) or None
        )
    answer = {
        "target": str(done.target),
        "files": done.files,
        "bytes": done.bytes,
        "records": done.records,
        "skipped": [{"path": one.path, "reason": one.reason} for one in done.skipped],
    }
    lines = [
        f"{done.files} files, {done.bytes:,} bytes, {done.records} records: {target}"
    ]
    lines += [f"skipped {one.path}: {one.reason}" for one in done.skipped]
    context.emit(answer, lambda: "\n".join(lines))
    return 1 if done.skipped else 0
