"""`forget`: removes a text from everything that is stored, after showing where it is."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vault_memory.api import json_contract
from vault_memory.cli.options import Context, NamedScopes, common, scoped
from vault_memory.errors import CannotAsk

if TYPE_CHECKING:
    from vault_memory.forgetting.forget_text import Forgotten


@click.command()
@click.argument("text")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show where TEXT is; remove nothing.")
@scoped
@common
@click.pass_obj
def forget(context: Context, text: str, yes: bool, dry_run: bool, scopes: NamedScopes) -> int:
    """Remove TEXT from notes, history and index, and verify that it is gone.

    You cannot undo this. A list item that contains TEXT is removed with everything nested
    in it; outside of lists the lines that contain TEXT are removed. Case, blanks and line
    breaks do not matter. With `-` the command reads TEXT from standard input, so that the
    shell does not store it.

    \b
    Example:
      vault-memory forget "allergic to mackerel" --dry-run
    """
    if not (yes or dry_run):
        _check_can_ask(text)
    if text == "-":
        text = sys.stdin.read()
    names = scopes.names() or None
    with context.open() as memory:
        if dry_run or not yes:
            preview = memory.forget(text, scopes=names, now=context.now, dry_run=True)
            if dry_run:
                return _emit(context, preview)
            if not _is_confirmed(context, preview):
                context.say("nothing was forgotten")
                return 0
        return _emit(context, memory.forget(text, scopes=names, now=context.now))


def _check_can_ask(text: str) -> None:
    """Check that a person can answer. Raises CannotAsk."""
    # With `-`, standard input is the text, and has no answer.
    if text == "-" or not sys.stdin.isatty():
        raise CannotAsk(
            "`forget` asks before it removes anything",
            "give `--yes` to remove the text, or `--dry-run` to see where it is",
        )


def _is_confirmed(context: Context, preview: "Forgotten") -> bool:
    for line in _lines(preview):
        context.line(line, err=True)
    return click.confirm("Remove it from all of these? You cannot undo this.", err=True)


def _emit(context: Context, report: "Forgotten") -> int:
    """Print the report, and return 1 when the text is still somewhere after its removal."""
    context.emit(json_contract.of_forgotten(report), lambda: "\n".join(_lines(report)))
    if report.remaining and report.receipt:
        return 1
    return 0


def _lines(report: "Forgotten") -> Iterator[str]:
    receipt = report.receipt
    verb, leftover = ("removed", "still there") if receipt else ("found", "stays")
    places = _places(len(report.removed))
    yield f"{verb}: {report.matches} in {places}"
    for match in report.removed:
        yield f"  {match.place}  {match.count}"
    for residue in report.remaining:
        yield f"{leftover}: {residue.place}: {residue.why}"
    for near in report.alike:
        yield f"reads alike, and stays: {near.place}  {near.count}"
    for process in report.in_memory:
        yield f"process {process.pid}: {process.why}"
    if receipt is None:
        return
    if not report.remaining:
        yield (
            "nothing of it is left: "
            "notes, history, index and the bytes of every file were searched again"
        )
    yield f"receipt {receipt.id}, {receipt.ts}"


def _places(count: int) -> str:
    if count == 1:
        return "1 place"
    return f"{count} places"
