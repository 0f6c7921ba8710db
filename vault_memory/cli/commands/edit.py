"""`append`, `add-heading`, `remove`, `replace`, `apply`: ops by hand, each with its outcome or reason."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.cli.options import Context, common
from vault_memory.cli.rendering import emit_edit, exit_code_of
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
else:
    json_contract = lazy_module("vault_memory.api.json_contract")

Function = TypeVar("Function", bound=Callable[..., Any])


class OpCommand(click.Command):
    """Takes a line that was copied with its marker, `- such`, for what it is, and not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [re.sub(r"^-[ \t]+", "", arg) for arg in args])


def editing(function: Function) -> Function:
    """The options of all commands that carry out ops."""
    for decorate in reversed(
        (
            click.option(
                "--source",
                type=click.Choice(["cli", "tool"]),
                default="cli",
                show_default=True,
                help="Whose act it is: a person's, or the bot's, which policy binds.",
            ),
            click.option(
                "--expected",
                metavar="REVISION",
                help="Change nothing if the note is another by now.",
            ),
            click.option(
                "--merge",
                is_flag=True,
                help="With --expected: carry the ops out on the newer text.",
            ),
            click.option(
                "--dry-run",
                is_flag=True,
                help="Show what would be done, and do nothing.",
            ),
        )
    ):
        function = decorate(function)
    return function


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("line")
@editing
@common
@click.pass_obj
def append(
    context: Context, /, note: str, heading: str, line: str, **options: Any
) -> int:
    """Add LINE as an item to the section HEADING of NOTE.

    A line that stands there already is not added again. A leading `- ` of LINE is left out.
    """
    return _apply(
        context, note, [{"op": "append", "heading": heading, "line": line}], options
    )


@click.command("add-heading", cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("lines", nargs=-1, required=True, metavar="LINE...")
@editing
@common
@click.pass_obj
def add_heading(
    context: Context, /, note: str, heading: str, lines: tuple[str, ...], **options: Any
) -> int:
    """Add a section HEADING with the items LINE... at the end of NOTE; a note that is not there is made."""
    return _apply(
        context,
        note,
        [{"op": "add_heading", "heading": heading, "lines": list(lines)}],
        options,
    )


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("match")
@editing
@common
@click.pass_obj
def remove(
    context: Context, /, note: str, heading: str, match: str, **options: Any
) -> int:
    """Remove the one item of the section HEADING of NOTE whose text contains MATCH, with what is nested in it."""
    return _apply(
        context, note, [{"op": "remove", "heading": heading, "match": match}], options
    )


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("match")
@click.argument("line")
@editing
@common
@click.pass_obj
def replace(
    context: Context, /, note: str, heading: str, match: str, line: str, **options: Any
) -> int:
    """Rewrite the one item of the section HEADING of NOTE whose text contains MATCH to say LINE.

    Its marker, its indent and what is nested in it stay.
    """
    return _apply(
        context,
        note,
        [{"op": "replace", "heading": heading, "match": match, "line": line}],
        options,
    )


@click.command(cls=OpCommand)
@click.argument("note")
@click.option(
    "--ops",
    "file",
    required=True,
    metavar="FILE",
    help='JSON: a list of ops, or {"ops": [...]}; - is stdin.',
)
@editing
@common
@click.pass_obj
def apply(context: Context, /, note: str, file: str, **options: Any) -> int:
    """Carry the ops in FILE out on NOTE. Good ones are done while bad ones are refused, each with its reason."""
    return _apply(context, note, json_contract.read_ops(_text(file)), options)


def _text(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"`{file}` cannot be read: {error.strerror}",
            hint="name a file, or - for stdin",
        ) from None


def _apply(
    context: Context, note: str, ops: Sequence[Any], options: Mapping[str, Any]
) -> int:
    with context.open() as memory:
        edit = memory.apply(note, ops, now=context.now, **options)
    emit_edit(context, edit, dry_run=options["dry_run"])
    return exit_code_of(edit)
