"""`append`, `add-heading`, `remove`, `replace`, `archive`, `apply`: ops by hand."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.cli.options import Context, common, dry_run, edit_source
from vault_memory.cli.rendering import emit_edit, exit_code_of_ops
from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory

Function = TypeVar("Function", bound=Callable[..., Any])


class OpCommand(click.Command):
    """A command whose arguments may be copied list items, `- such`, which look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        without_markers = [re.sub(r"^-[ \t]+", "", arg) for arg in args]
        return super().parse_args(ctx, without_markers)


def editing(function: Function) -> Function:
    """Add the options of all commands that apply ops."""
    function = dry_run(function)
    function = click.option(
        "--merge",
        is_flag=True,
        help="With --expected: if the note changed, apply the ops to the newer text.",
    )(function)
    function = click.option(
        "--expected",
        metavar="REVISION",
        help="Change nothing unless the note still has this revision.",
    )(function)
    return edit_source(function)


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("line")
@editing
@common
@click.pass_obj
def append(context: Context, /, note: str, heading: str, line: str, **options: Any) -> int:
    """Add LINE as an item to the section HEADING of NOTE.

    A line that is already there is not added again, unless it is a task that is done. LINE may
    begin with a dash, or with the marker of its list; anything else is text: "24. December".

    \b
    Example:
      vault-memory append USER.md Preferences "tea without sugar"
    """
    op = {"op": "append", "heading": heading, "line": line}
    return _apply(context, note, [op], options)


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
    """Add a section HEADING with the items LINE... at the end of NOTE.

    A note that does not exist is created.
    """
    op = {"op": "add_heading", "heading": heading, "lines": list(lines)}
    return _apply(context, note, [op], options)


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("match")
@editing
@common
@click.pass_obj
def remove(context: Context, /, note: str, heading: str, match: str, **options: Any) -> int:
    """Remove the item that contains MATCH from the section HEADING of NOTE.

    Nested items are removed with it. MATCH must be in exactly one item.
    """
    op = {"op": "remove", "heading": heading, "match": match}
    return _apply(context, note, [op], options)


@click.command(cls=OpCommand)
@click.argument("note")
@click.argument("heading")
@click.argument("match")
@editing
@common
@click.pass_obj
def archive(context: Context, /, note: str, heading: str, match: str, **options: Any) -> int:
    """Move the item that contains MATCH from the section HEADING of NOTE to its section Archived.

    Nested items move with it. Rules in that section no longer hold: no prompt gets them.
    MATCH must be in exactly one item.
    """
    op = {"op": "archive", "heading": heading, "match": match}
    return _apply(context, note, [op], options)


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
    """Rewrite the item that contains MATCH in the section HEADING of NOTE as LINE.

    LINE takes the place of the first paragraph. Marker, box, nested items and what else belongs to
    the item stay. A box in LINE ticks a task. MATCH must be in exactly one item.

    \b
    Example:
      vault-memory replace USER.md Tasks "water plants" "[x] water plants"
    """
    op = {"op": "replace", "heading": heading, "match": match, "line": line}
    return _apply(context, note, [op], options)


@click.command(cls=OpCommand)
@click.argument("note")
@click.option(
    "--ops",
    "file",
    required=True,
    metavar="FILE",
    help='JSON file with a list of ops, or {"ops": [...]}; `-` is standard input.',
)
@editing
@common
@click.pass_obj
def apply(context: Context, /, note: str, file: str, **options: Any) -> int:
    """Apply the ops in FILE to NOTE.

    Ops that are not possible are refused, each with a reason; the others are applied.
    """
    return _apply(context, note, _read_ops(_read(file)), options)


def _read_ops(text: str | bytes) -> list[object]:
    """Read the ops of a JSON text: a list, or an object with the list under `ops`.

    Raises UsageError.
    """
    try:
        payload = json.loads(text)
    # Thousands of opening brackets exceed the depth that the parser can nest.
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the ops are not JSON: {error}", hint='write [{"op": "append", …}, …]'
        ) from None
    ops = payload.get("ops") if isinstance(payload, dict) else payload
    if not isinstance(ops, list):
        raise UsageError(
            "the ops are not a list", hint='write [{"op": "append", …}, …] or {"ops": […]}'
        )
    return ops


def _read(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read()
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"`{file}` cannot be read: {error.strerror}",
            hint="give the path of a file, or - for standard input",
        ) from None


def _apply(context: Context, note: str, ops: Sequence[Any], options: Mapping[str, Any]) -> int:
    with context.open() as memory:
        note = named_note(context, memory, note)
        edit = memory.apply(note, ops, now=context.now, **options)
    emit_edit(context, edit, dry_run=options["dry_run"])
    return exit_code_of_ops(edit)


def named_note(context: Context, memory: "VaultMemory", note: str) -> str:
    """Return the path of a note that is named without extension, and say which one it is."""
    # Fault: a path with an extension may be that of a new note, and must not become another one.
    if note.endswith((".md", ".markdown")):
        return note
    path = memory.searcher.find_note(note)
    if path != note:
        context.say(f"`{note}` is {path}")
    return path
