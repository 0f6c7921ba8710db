"""`conflicts` and `trash`: conflict copies of sync programs, and deleted notes."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from vault_memory.api import json_contract
from vault_memory.cli.edit_rendering import PENDING
from vault_memory.cli.options import Context, NamedScopes, common, dry_run, grouped, scoped
from vault_memory.cli.rendering import coloured_diff
from vault_memory.cli.terminal import styled
from vault_memory.contract import as_json
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.edits.calls import CallKeywords
    from vault_memory.edits.conflict_copy import ConflictCopy, ResolvedConflict
    from vault_memory.edits.plans.copy_places import PlaceChoice
    from vault_memory.edits.reports import ThrownNote

NEEDS_A_PERSON = 5
COPIES = "run `vault-memory conflicts` to list the copies with their ids"
LONGEST_EXCERPT = 60
"""Characters of a text that the report of a conflict quotes"""
_CHOICES: dict[str, "PlaceChoice"] = {"merge": "both", "take": "take", "discard": "keep"}
"""What an action does to one place"""
_WOULD = {
    "identical": "would go to the trash: it is identical to the note",
    "contained": "would go to the trash: the note contains all of it",
    "mergeable": "would be merged",
}


@dataclass(frozen=True, slots=True)
class ConflictOptions:
    """What to do with the conflict copies, and which of them."""

    action: str | None
    """None lists them"""
    ids: tuple[str, ...]
    everything: bool
    both: bool
    place: str
    """the only place to settle; empty for all"""
    diff: bool
    dry_run: bool


@click.command()
@click.argument("action", required=False, type=click.Choice(["merge", "take", "discard"]))
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With merge: merge all copies whose names are certain.",
)
@click.option(
    "--both",
    is_flag=True,
    help="With merge: where both changed a line, keep both lines and mark that of the copy.",
)
@click.option(
    "--place",
    metavar="PLACE",
    default="",
    help="Settle one place: take the copy's lines, merge to keep both, or discard them.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show the differences between each copy and its note, also off a terminal.",
)
@dry_run
@scoped
@common
@click.pass_obj
@grouped(ConflictOptions, "options")
def conflicts(context: Context, options: ConflictOptions, scopes: NamedScopes) -> int:
    """List the conflict copies that sync programs left beside notes, or settle some of them.

    \b
    merge    merges a copy into its note, and moves the copy to the trash
    take     replaces the text of the note with that of the copy; `history` has the old text
    discard  moves the copy to the trash; `trash restore` brings it back

    With `--place` each settles one place; after the last one the copy goes to the trash.
    Exit code 5 means that both sides changed the same text and that you have to decide.
    The daemon merges copies without such conflicts by itself.

    \b
    Example:
      vault-memory conflicts merge --all --dry-run
    """
    if options.action is None:
        return _list(context, scopes.names(), options.diff)
    _check_ids(options)
    with context.open() as memory:
        resolved = _settle(memory, context, options)
    context.emit(
        json_contract.of_resolved(resolved),
        lambda: "\n".join(_report(resolved, options)) or "there are no copies",
    )
    if options.dry_run and not context.json:
        context.say("nothing was written")
    return _exit_code(resolved)


def _check_ids(options: ConflictOptions) -> None:
    is_merge = options.action == "merge"
    if options.place and len(options.ids) != 1:
        raise UsageError("`--place` needs the id of one copy", hint=COPIES)
    if options.ids or (options.everything and is_merge):
        return
    alternative = ", or `--all`" if is_merge else ""
    raise UsageError(f"`conflicts {options.action}` needs an id{alternative}", hint=COPIES)


def _settle(
    memory: "VaultMemory", context: Context, options: ConflictOptions
) -> "list[ResolvedConflict]":
    calls = memory.conflicts
    ids = options.ids
    keywords: CallKeywords = {"dry_run": options.dry_run, "now": context.now}
    if options.place:
        choice = _CHOICES[str(options.action)]
        return calls.settle_place(ids[0], options.place, choice, **keywords)
    if options.action == "merge":
        return calls.merge(ids, both=options.both, **keywords)
    if options.action == "discard":
        return calls.discard(ids, **keywords)
    return [result for id_ in ids for result in calls.take(id_, **keywords)]


def _list(context: Context, scopes: Sequence[str], diff: bool) -> int:
    with context.open() as memory:
        copies = memory.conflicts(scopes or None)
    with_diff = diff or sys.stdout.isatty()

    def human() -> str:
        blocks = ["\n".join(_copy_lines(copy, with_diff)) for copy in copies]
        return "\n".join(blocks) or "no conflict copies"

    context.emit(json_contract.of_conflicts(copies), human)
    return 0


def _exit_code(resolved: "Sequence[ResolvedConflict]") -> int:
    outcomes = {copy.outcome for copy in resolved}
    if outcomes & {"conflict", "changed"}:
        return NEEDS_A_PERSON
    return PENDING if "pending" in outcomes else 0


def _copy_lines(copy: "ConflictCopy", diff: bool) -> Iterator[str]:
    date = f", {copy.date}" if copy.date else ""
    head = f"{copy.id}  {copy.note}  {copy.program}{date}"
    yield f"{styled(head, bold=True)}  {copy.state}: {copy.why}"
    yield f"    {copy.path}"
    yield from _place_lines(copy)
    if diff and copy.diff:
        yield coloured_diff(copy.diff.decode("utf-8", "replace"))


def _place_lines(copy: "ConflictCopy") -> Iterator[str]:
    for place in copy.places:
        in_note, in_copy = _excerpt(place.note), _excerpt(place.copy)
        yield f"    {place.id}  line {place.line}: {in_note} in the note, {in_copy} in the copy"


def _excerpt(lines: str) -> str:
    text = " ".join(lines.split())
    if not text:
        return "nothing"
    if len(text) > LONGEST_EXCERPT:
        text = text[: LONGEST_EXCERPT - 1] + "…"
    return repr(text)


def _would(copy: "ConflictCopy", options: ConflictOptions) -> str:
    """Return what a dry run would do with a copy."""
    if options.place:
        return "would be settled in one place"
    if options.action == "discard":
        return "would go to the trash"
    if options.action == "take":
        return f"would become the text of {copy.note}"
    if options.both and copy.folded.result is not None:
        return _WOULD["mergeable"]
    return _WOULD.get(copy.state, f"needs your decision: {copy.why}")


def _report(resolved: "Sequence[ResolvedConflict]", options: ConflictOptions) -> Iterator[str]:
    for result in resolved:
        yield from _resolved_lines(result, options)


def _resolved_lines(result: "ResolvedConflict", options: ConflictOptions) -> Iterator[str]:
    copy = result.copy
    edit = result.edit
    if edit is not None and edit.diff:
        yield coloured_diff(edit.diff)
    if result.outcome == "none":
        yield f"{copy.path} {_would(copy, options)}"
        return
    why = f" ({result.why})" if result.why else ""
    yield f"{result.outcome}: {copy.path}{why}"
    if result.outcome == "conflict":
        yield from _place_lines(copy)
        yield f"    decide with `vault-memory conflicts merge --both {copy.id}`, `take` or `discard`"
    elif edit is not None and edit.audit_id:
        undo = f"`vault-memory undo {edit.audit_id}`"
        yield f"    recorded as {edit.audit_id}; {undo} takes it back"


@click.command()
@click.argument("action", required=False, type=click.Choice(["restore"]))
@click.argument("thrown_id", metavar="[ID]", required=False)
@common
@click.pass_obj
def trash(context: Context, action: str | None, thrown_id: str | None) -> int:
    """List the notes deleted in the last 30 days, newest first, or restore one by its ID.

    If another note has its name by now, the restored note gets a name beside it.

    \b
    Example:
      vault-memory trash restore copy-01d01099cdc93d42
    """
    if action and not thrown_id:
        raise UsageError(
            "`trash restore` needs an id",
            hint="run `vault-memory trash` to list the notes with their ids",
        )
    with context.open() as memory:
        if thrown_id is None:
            notes = memory.conflicts.trash()
            context.emit(
                {"items": as_json(notes)},
                lambda: "\n".join(map(_trashed, notes)) or "the trash is empty",
            )
            return 0
        restored = memory.conflicts.untrash(thrown_id, now=context.now)
    why = f" ({restored.why})" if restored.why else ""
    context.emit(
        {"items": as_json([restored])}, lambda: f"{restored.outcome}: {restored.note}{why}"
    )
    return PENDING if restored.outcome == "pending" else 0


def _trashed(note: "ThrownNote") -> str:
    size = f"{note.bytes} bytes"
    return f"{note.id}  {note.ts}  {size}  {note.note}"
