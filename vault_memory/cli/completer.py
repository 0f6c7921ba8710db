"""Answers a shell that asks how a command line may go on.

The shell starts `vault-memory __complete SHELL …`. The first line of the answer says what else the
shell may offer: `values` (nothing), `files` or `folders`. Each further line is a value, a tab, and
what it means. Errors are silent, because the person is still typing.

Values are read from the vault without writing: people, channels, groups and the names of facts from
the index as it is, notes from the folder, and conversations from the state folder.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from vault_memory import places
from vault_memory.addons import table
from vault_memory.cli.root import COMMANDS, UNLISTED, cli
from vault_memory.conversations import calls as conversation_calls
from vault_memory.errors import NoVault
from vault_memory.index.inspection import completion_rows
from vault_memory.rules.paths import layout
from vault_memory.search import results
from vault_memory.vault import locate, marker

MOST = 500
"""A longer list at a Tab key would not be read"""
NOTES = (".md", ".markdown")


class Values(NamedTuple):
    """Values with their meanings, and what else the shell may offer."""

    items: Sequence[tuple[str, str]] = ()
    also: str = "values"
    """`values` for nothing else, `files` or `folders`"""


def of(command: str, parameter: str, vault: str, word: str) -> Values:
    """Return the values of a parameter of a command."""
    usual = READERS.get(parameter, _nothing)
    reader = OTHERS.get(f"{command} {parameter}", usual)
    return reader(vault, word)


# --- The vault ----------------------------------------------------------------------------------


def _vault_folder(vault: str) -> Path:
    """Return the named folder, else the nearest one above with a marker. Raises VaultError."""
    return locate.locate(vault, {}, start=Path.cwd())


def _state(vault: str) -> Path:
    """Return the state folder. Raises VaultError."""
    vault_marker = marker.read_marker(_vault_folder(vault))
    if vault_marker is None:
        raise NoVault
    return Path(places.state_root(os.environ), vault_marker.vault)


def _index_folder(vault: str) -> Path:
    return _state(vault) / "index"


def _scopes(kind: str) -> "Reader":
    def values(vault: str, word: str) -> Values:
        names = completion_rows.scope_names(_index_folder(vault), kind, MOST)
        return Values([(name, "") for name in names])

    return values


def _entities(vault: str, word: str) -> Values:
    names = completion_rows.subjects(_index_folder(vault), word, MOST)
    return Values([(name, "") for name in names])


def _notes(vault: str, word: str) -> Values:
    """Return the notes and folders in the folder that the word begins with."""
    root = _vault_folder(vault)
    folder, slash, _ = word.rpartition("/")
    names = sorted(_note_names(root / folder))
    return Values([(f"{folder}{slash}{name}", "") for name in names[:MOST]])


def _note_names(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield f"{entry.name}/"
            elif entry.name.lower().endswith(NOTES):
                yield entry.name


def _sessions(vault: str, word: str) -> Values:
    items = []
    for file in _state(vault).glob("sessions/*/*.open"):
        session = json.loads(file.read_text(encoding="utf-8"))
        who = session["channel"] or session["user"]
        items.append((str(session["session"]), f"open, with {who}"))
    return Values(sorted(items)[:MOST])


# --- What is the same in each vault ---------------------------------------------------------------


def _kinds(vault: str, word: str) -> Values:
    return Values([(kind, "") for kind in layout.KINDS])


def _hosts(vault: str, word: str) -> Values:
    names = table.part("hosts.programs").names()
    return Values([(name, "") for name in names])


def _nothing(vault: str, word: str) -> Values:
    return Values()


def _files(vault: str, word: str) -> Values:
    return Values(also="files")


def _folders(vault: str, word: str) -> Values:
    return Values(also="folders")


Reader = Callable[[str, str], Values]

READERS: dict[str, Reader] = {
    "user": _scopes("user"),
    "users": _scopes("user"),
    "channel": _scopes("channel"),
    "channels": _scopes("channel"),
    "group": _scopes("group"),
    "groups": _scopes("group"),
    "entity": _entities,
    "subject": _entities,
    "name": _entities,
    "note": _notes,
    "paths": _notes,
    "ref": _notes,
    "session": _sessions,
    "kinds": _kinds,
    "role": lambda vault, word: Values([("user", "a person"), ("assistant", "the bot")]),
    "vault": _folders,
    "path": _folders,
    "to": _folders,
    "project": _folders,
    "config": _files,
    "ops": _files,
    "password_file": _files,
    "ca_file": _files,
    "new_token": _files,
}
"""Parameter → its values, in each command"""
OTHERS: dict[str, Reader] = {
    "search mode": lambda vault, word: Values([(mode, "") for mode in results.MODES]),
    "record mode": lambda vault, word: Values([(mode, "") for mode in conversation_calls.MODES]),
    "install host": _hosts,
    "hook host": _hosts,
    "mcp host": _hosts,
    "import source": _files,
    "remote user": _nothing,
    "service name": _nothing,
    "models name": _nothing,
    "search path": _nothing,
}
"""Command and parameter → its values, where they differ"""


_SHORT = re.compile(r"(?<=[.;:])\s|\n")
_SPECIAL = re.compile(r"([^\w@%+=:,./~-])")


# --- The typed line ---

# A command line that a person is still typing, as its shell splits it.


class TypedLine(NamedTuple):
    """A command line up to the cursor."""

    before: list[str]
    """The complete words, without the name of the program"""
    word: str
    """The word at the cursor; empty after a space"""
    quote: str = ""
    """The quotation mark that is open at the cursor"""


def split(text: str) -> TypedLine:
    """Split a line. A quotation mark may still be open at its end."""
    for quote in ("", '"', "'"):
        try:
            words = shlex.split(text + quote)
        except ValueError:
            # Another mark is open, or the last letter is a backslash.
            continue
        if not quote and text[-1:].isspace() and not text.endswith("\\ "):
            words.append("")
        return TypedLine(words[1:-1], words[-1], quote)
    return split(text[:-1])


# --- Completer ---


@dataclass(slots=True)
class CursorPlace:
    """Where the cursor is: in which command, and what it has got so far."""

    command: click.Command
    name: str = ""
    vault: str = ""
    waiting: click.Option | None = None
    """The option whose value comes next"""
    arguments: int = 0
    """How many arguments come before the cursor"""
    only_arguments: bool = False
    """Whether `--` came before"""


def answer(words: Sequence[str]) -> int:
    """Print the ways in which a command line may go on. The exit code is always 0."""
    try:
        text = _answer(words[0], words[1:])
        sys.stdout.buffer.write(os.fsencode(text))
        sys.stdout.flush()
    except BaseException:
        # A message would appear in the middle of the line that a person is typing.
        return 0
    return 0


def _answer(shell: str, words: Sequence[str]) -> str:
    if shell == "bash":
        line = split(words[0])
        values = candidates(line)
        return _text(_for_bash(values, line))
    return _text(candidates(TypedLine(list(words[:-1]), words[-1])))


def _text(values: Values) -> str:
    lines = [f"{value}\t{meaning}".rstrip() for value, meaning in values.items]
    return "\n".join([values.also, *lines, ""])


def _for_bash(values: Values, line: TypedLine) -> Values:
    """Return what bash puts in place of the last part of the word at the cursor."""
    if line.quote:
        return values
    # bash ends a word at `=` and `:`, and replaces only what follows.
    start = max(map(line.word.rfind, "=:")) + 1
    items = [(_SPECIAL.sub(r"\\\1", value[start:]), meaning) for value, meaning in values.items]
    return Values(items, values.also)


def candidates(line: TypedLine) -> Values:
    """Return the ways in which the word at the cursor may go on."""
    position = _position(line.before)
    values = _values(position, line.word)
    # A control character in a name would move the cursor, or end the value.
    items = [
        item for item in values.items if item[0].startswith(line.word) and item[0].isprintable()
    ]
    return Values(items, values.also)


def _position(words: Sequence[str]) -> CursorPlace:
    position = CursorPlace(cli, vault=os.environ.get("VAULT_MEMORY_VAULT", ""))
    for word in words:
        _step(position, word)
    return position


def _step(position: CursorPlace, word: str) -> None:
    """Read one complete word."""
    if position.waiting is not None:
        _set_value(position, position.waiting, word)
        position.waiting = None
    elif position.only_arguments or not word.startswith("-") or word == "-":
        _step_word(position, word)
    elif word == "--":
        position.only_arguments = True
    else:
        _step_option(position, word)


def _set_value(position: CursorPlace, option: click.Option, value: str) -> None:
    if "--vault" in option.opts:
        position.vault = value


def _step_option(position: CursorPlace, word: str) -> None:
    name, equals, value = word.partition("=")
    option = _option(position.command, name)
    if option is None or option.is_flag:
        return
    if equals:
        _set_value(position, option, value)
    else:
        position.waiting = option


def _step_word(position: CursorPlace, word: str) -> None:
    command = None
    if isinstance(position.command, click.Group):
        context = click.Context(position.command)
        command = position.command.get_command(context, word)
    if command is None:
        position.arguments += 1
        return
    position.name = f"{position.name} {word}".strip()
    position.command = command


def _option(command: click.Command, name: str) -> click.Option | None:
    for option in _options(command):
        if name in (*option.opts, *option.secondary_opts):
            return option
    return None


def _options(command: click.Command) -> list[click.Option]:
    parameters = command.params
    return [option for option in parameters if isinstance(option, click.Option)]


def _values(position: CursorPlace, word: str) -> Values:
    if position.waiting is not None:
        return _of_parameter(position, position.waiting, word)
    if word.startswith("-") and not position.only_arguments:
        return _of_option(position, word)
    if isinstance(position.command, click.Group):
        return Values(_commands(position.command))
    argument = _argument(position)
    if argument is None:
        return Values()
    return _of_parameter(position, argument, word)


def _of_option(position: CursorPlace, word: str) -> Values:
    name, equals, value = word.partition("=")
    if not equals:
        return Values(_option_names(position.command))
    option = _option(position.command, name)
    if option is None:
        return Values()
    values = _of_parameter(position, option, value)
    items = [(f"{name}={text}", meaning) for text, meaning in values.items]
    return Values(items, values.also)


def _option_names(command: click.Command) -> list[tuple[str, str]]:
    items = [("--help", "Show the help.")]
    for option in _options(command):
        names = [] if option.hidden else [*option.opts, *option.secondary_opts]
        meaning = _short(option.help or "")
        items += [(name, meaning) for name in names if name.startswith("--")]
    return items


def _commands(group: click.Group) -> list[tuple[str, str]]:
    if group is cli:
        return [(name, _short(line)) for name, (_, line) in (COMMANDS | UNLISTED).items()]
    return [(name, _short(command.help or "")) for name, command in group.commands.items()]


def _argument(position: CursorPlace) -> click.Argument | None:
    """Return the argument at the cursor."""
    arguments = [
        parameter for parameter in position.command.params if isinstance(parameter, click.Argument)
    ]
    if position.arguments < len(arguments):
        return arguments[position.arguments]
    # An argument that takes any number of words takes this one, too.
    if arguments and arguments[-1].nargs == -1:
        return arguments[-1]
    return None


def _of_parameter(position: CursorPlace, parameter: click.Parameter, word: str) -> Values:
    if isinstance(parameter.type, click.Choice):
        return Values([(str(choice), "") for choice in parameter.type.choices])
    name = parameter.name or ""
    return of(position.name, name, position.vault, word)


def _short(text: str) -> str:
    """Return the first sentence of a help text, without the markup of code."""
    return _SHORT.split(text.strip(), maxsplit=1)[0].replace("`", "").rstrip(".")
