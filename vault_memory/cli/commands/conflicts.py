"""`conflicts`, `trash`: copies that sync programs left beside notes, and what was thrown away."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped
from vault_memory.cli.rendering import PENDING, coloured_diff
from vault_memory.cli.terminal import styled
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.edits.conflict_copy import ConflictCopy, Resolved
    from vault_memory.edits.reports import ThrownNote
else:
    json_contract = lazy_module("vault_memory.api.json_contract")

NEEDS_A_PERSON = 5
_WOULD = {
    "identical": "would be thrown away: it says the same as the note",
    "contained": "would be thrown away: the note has all that it says",
    "mergeable": "would be merged",
}


@click.command()
@click.argument(
    "action", required=False, type=click.Choice(["merge", "take", "discard"])
)
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With merge: all copies whose names are certain.",
)
@click.option(
    "--both",
    is_flag=True,
    help="With merge: where both changed one line keep both, the copy's with a mark.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show what each copy says otherwise than its note, off a terminal too.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)
@scoped
@common
@click.pass_obj
def conflicts(
    context: Context,
    action: str | None,
    ids: tuple[str, ...],
    everything: bool,
    both: bool,
    diff: bool,
    dry_run: bool,
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
) -> int:
    """List the conflict copies that sync programs left beside notes; or merge, take or discard some by their IDs.

    \b
    merge    writes what a copy says into its note, and throws the copy away
    take     puts the copy's text in the place of the note's, which stays in the history
    discard  throws the copy away; `trash restore` brings it back

    What both changed is left to you, with exit code 5. The daemon merges by itself what merges cleanly.
    """
    if action is None:
        return _list(context, named_scopes(users, channels, groups), diff)
    if not ids and not (everything and action == "merge"):
        more = ", or `--all`" if action == "merge" else ""
        raise UsageError(
            f"`conflicts {action}` needs an id{more}",
            hint="`vault-memory conflicts` lists them",
        )
    with context.open() as memory:
        if action == "merge":
            done = memory.conflicts.merge(
                ids, both=both, dry_run=dry_run, now=context.now
            )
        elif action == "take":
            done = [
                one
                for copy in ids
                for one in memory.conflicts.take(copy, dry_run=dry_run, now=context.now)
            ]
        else:
            done = memory.conflicts.discard(ids, dry_run=dry_run, now=context.now)
    context.emit(
        json_contract.of_resolved(done),
        lambda: "\n".join(_done_lines(done, action, both)) or "there are no copies",
    )
    if dry_run and not context.json:
        context.say("nothing was written")
    return _exit_code(done)


def _list(context: Context, scopes: Sequence[str], diff: bool) -> int:
    with context.open() as memory:
        copies = memory.conflicts(scopes or None)
    shown = diff or sys.stdout.isatty()
    context.emit(
        json_contract.of_conflicts(copies),
        lambda: (
            "\n".join(line for copy in copies for line in _copy_lines(copy, shown))
            or "no conflict copies"
        ),
    )
    return 0


def _exit_code(done: "Sequence[Resolved]") -> int:
    outcomes = {one.outcome for one in done}
    if outcomes & {"conflict", "changed"}:
        return NEEDS_A_PERSON
    return PENDING if "pending" in outcomes else 0


def _copy_lines(copy: "ConflictCopy", diff: bool) -> Iterator[str]:
    head = (
        f"{copy.id}  {copy.note}  {copy.program}{', ' + copy.date if copy.date else ''}"
    )
    yield styled(head, bold=True) + f"  {copy.state}: {copy.why}"
    yield f"    {copy.path}"
    yield from _places(copy)
    if diff and copy.diff:
        yield coloured_diff(copy.diff.decode("utf-8", "replace"))


def _places(copy: "ConflictCopy") -> Iterator[str]:
    for one in copy.conflicts:
        where = (
            f"{one.section or 'at the top'}: "
            if one.kind != "front matter"
            else "front matter: "
        )
        yield f"    {where}{_short(one.kept)} in the note, {_short(one.other)} in the copy"


def _short(raw: bytes) -> str:
    said = " ".join(raw.decode("utf-8", "replace").split())
    return repr(said if len(said) <= 60 else said[:59] + "…") if said else "nothing"


def _would(copy: "ConflictCopy", action: str, both: bool) -> str:
    if action != "merge":
        return (
            "would be thrown away"
            if action == "discard"
            else f"would be the text of {copy.note}"
        )
    if both and copy.folded.result is not None:
        return _WOULD["mergeable"]
    return _WOULD.get(copy.state, f"is left to you: {copy.why}")


def _done_lines(done: "Sequence[Resolved]", action: str, both: bool) -> Iterator[str]:
    for one in done:
        copy = one.copy
        if one.edit is not None and one.edit.diff:
            yield coloured_diff(one.edit.diff)
        if one.outcome == "none":
            yield f"{copy.path} {_would(copy, action, both)}"
            continue
        yield f"{one.outcome}: {copy.path}" + (f" ({one.why})" if one.why else "")
        if one.outcome == "conflict":
            yield from _places(copy)
            yield f"    settle it with `conflicts merge --both`, `take` or `discard`, and the id {copy.id}"
        elif one.edit is not None and one.edit.audit_id:
            yield f"    recorded as {one.edit.audit_id}; `undo {one.edit.audit_id}` takes it back"


@click.command()
@click.argument("action", required=False, type=click.Choice(["restore"]))
@click.argument("thrown_id", metavar="[ID]", required=False)
@common
@click.pass_obj
def trash(context: Context, action: str | None, thrown_id: str | None) -> int:
    """List what was thrown away in the last 30 days, the newest first; or restore one by its ID.

    A note that has another under its name by now comes back beside it.
    """
    if action and not thrown_id:
        raise UsageError(
            "`trash restore` needs an id", hint="`vault-memory trash` lists them"
        )
    with context.open() as memory:
        if thrown_id is None:
            thrown = memory.conflicts.trash()
            context.emit(
                json_contract.of_trash(thrown),
                lambda: "\n".join(map(_thrown, thrown)) or "the trash is empty",
            )
            return 0
        back = memory.conflicts.untrash(thrown_id, now=context.now)
    why = f" ({back.why})" if back.why else ""
    context.emit(
        json_contract.of_trash([back]), lambda: f"{back.outcome}: {back.note}{why}"
    )
    return PENDING if back.outcome == "pending" else 0


def _thrown(one: "ThrownNote") -> str:
    return f"{one.id}  {one.ts}  {one.bytes} bytes  {one.note}"
