"""`forget`: a text goes from everything that is kept, after it was shown where that is."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vault_memory.cli.options import Context, common, named_scopes, scoped
from vault_memory.errors import CannotAsk
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.forgetting.forget_text import Forgotten
else:
    json_contract = lazy_module("vault_memory.api.json_contract")


@click.command()
@click.argument("text")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show where TEXT stands, and do nothing.")
@scoped
@common
@click.pass_obj
def forget(
    context: Context,
    text: str,
    yes: bool,
    dry_run: bool,
    users: tuple[str, ...],
    channels: tuple[str, ...],
    groups: tuple[str, ...],
) -> int:
    """Take TEXT out of everything that is kept, and make sure that it is gone. It cannot be undone.

    A list item that says TEXT goes whole, with what is nested in it; of other text the lines go in which it stands.
    Case, blanks and line breaks do not count. TEXT is `-` to read it from standard input, so that no shell keeps it.
    """
    wanted = sys.stdin.read() if text == "-" else text
    scopes = named_scopes(users, channels, groups) or None
    if not (yes or dry_run) and (text == "-" or not sys.stdin.isatty()):
        raise CannotAsk(
            "`forget` asks before it takes anything out",
            "say `--yes` to do it, or `--dry-run` to see what it would do",
        )
    with context.open() as memory:
        if dry_run or not yes:
            found = memory.forget(wanted, scopes=scopes, now=context.now, dry_run=True)
            if dry_run:
                return _told(context, found)
            if not _agreed(context, found):
                context.say("nothing was forgotten")
                return 0
        return _told(context, memory.forget(wanted, scopes=scopes, now=context.now))


def _agreed(context: Context, found: "Forgotten") -> bool:
    for line in _lines(found):
        context.line(line, err=True)
    return click.confirm(
        "Take it out of all of these? This cannot be undone.", err=True
    )


def _told(context: Context, forgotten: "Forgotten") -> int:
    """The answer; 1 when it is still somewhere after it was to be taken out."""
    context.emit(
        json_contract.of_forgotten(forgotten), lambda: "\n".join(_lines(forgotten))
    )
    return 1 if forgotten.remaining and forgotten.receipt else 0


def _lines(forgotten: "Forgotten") -> Iterator[str]:
    done = forgotten.receipt
    yield f"{'removed' if done else 'found'}: {forgotten.matches} in {_places(len(forgotten.removed))}"
    yield from (f"  {one.place}  {one.count}" for one in forgotten.removed)
    for one in forgotten.remaining:
        yield f"{'still there' if done else 'stays'}: {one.place}: {one.why}"
    for near in forgotten.alike:
        yield f"reads alike, and stays: {near.place}  {near.count}"
    for process in forgotten.in_memory:
        yield f"process {process.pid}: {process.why}"
    if done:
        if not forgotten.remaining:
            yield "nothing of it is left: notes, history and index were searched again, and the bytes of every file"
        yield f"receipt {done.id}, {done.ts}"


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"
