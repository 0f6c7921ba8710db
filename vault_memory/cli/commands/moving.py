"""`import` and `export`: what another system knew, and everything that is known, to take it elsewhere."""

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped

NAME = "vault-memory-export"


@click.command("import")
@click.argument("source")
@click.option("--dry-run", is_flag=True, help="Show what would come in; nothing is written.")
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
    """Take in the facts and texts that the database SOURCE of Istota holds. SOURCE is only read.

    Facts go to FACTS.md, texts to the note of their day, else to a note of their own. What is known is not added again.
    Exit code 1 when something could not be taken.
    """
    with context.open() as memory:
        done = memory.import_from(
            source, scopes=named_scopes(users, channels, groups) or None, now=context.now, dry_run=dry_run
        )
    skipped = [{"path": one.path, "reason": one.reason} for one in done.skipped]
    answer = {"facts": done.facts, "items": done.items, "known": done.known, "notes": done.notes, "skipped": skipped}
    would = "would take" if dry_run else "took"
    lines = [f"{would} {done.facts} facts and {done.items} items; {done.known} known already"]
    lines += [f"  {note}" for note in done.notes]
    lines += [f"skipped {one.path}: {one.reason}" for one in done.skipped]
    context.emit(answer, lambda: "\n".join(lines))
    return 1 if done.skipped else 0


@click.command()
@click.option("--to", "target", metavar="PATH", default=NAME, show_default=True, help="A folder, or a file.jsonl.")
@scoped
@common
@click.pass_obj
def export(
    context: Context, target: str, users: tuple[str, ...], channels: tuple[str, ...], groups: tuple[str, ...]
) -> int:
    """Write all notes, transcripts and records as they are, and `memory.jsonl`, in which each item, fact and turn is a
    line of JSON. Into a PATH that ends in `.jsonl` only the latter is written. Nothing is overwritten.

    Exit code 1 when a file could not be read; the others are there.
    """
    with context.open() as memory:
        done = memory.export(target, scopes=named_scopes(users, channels, groups) or None)
    answer = {
        "target": str(done.target),
        "files": done.files,
        "bytes": done.bytes,
        "records": done.records,
        "skipped": [{"path": one.path, "reason": one.reason} for one in done.skipped],
    }
    lines = [f"{done.files} files, {done.bytes:,} bytes, {done.records} records: {target}"]
    lines += [f"skipped {one.path}: {one.reason}" for one in done.skipped]
    context.emit(answer, lambda: "\n".join(lines))
    return 1 if done.skipped else 0
