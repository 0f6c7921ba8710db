"""Writes the manual page `docs/man/vault-memory.1` from the command line, in the language of man."""

import inspect
import re
import textwrap

import click

from vault_memory import __version__

SECTIONS = """\
.SH EXIT STATUS
{exit_codes}
.SH ENVIRONMENT
.TP
.B VAULT_MEMORY_VAULT
The vault of each command without \\-\\-vault.
.TP
.B VAULT_MEMORY_CONFIG
The configuration file.
.TP
.B VAULT_MEMORY_STATE
The folder for the indexes of all vaults.
.TP
.B VAULT_MEMORY_CACHE
The folder for downloaded models.
.SH FILES
.TP
.I .vault\\-memory
In the folder of the notes: the id of the vault.
.TP
.I NOTE.md.audit.jsonl
Beside a note: what was changed in it, by whom and why.
.TP
.I ~/.local/state/vault\\-memory
Indexes, versions of notes, and the configuration of each vault (Linux).
.SH SEE ALSO
The guides and the reference are in the folder
.I docs
of the sources.
"""


def page(root: click.Group, exit_codes: dict[int, str]) -> str:
    """Return the manual page of a group of commands."""
    context = click.Context(root, info_name="vault-memory")
    lines = [
        '.\\" Generated from the code by docs/generate.py; `make docs` writes it again.',
        f'.TH VAULT\\-MEMORY 1 "" "vault\\-memory {__version__}" "User Commands"',
        ".SH NAME",
        "vault\\-memory \\- the memory of a bot, as a folder of Markdown",
        ".SH SYNOPSIS",
        ".B vault\\-memory",
        ".RI [ OPTIONS ]",
        ".I COMMAND",
        ".RI [ ARGUMENTS ]",
        ".SH DESCRIPTION",
        *_prose(root.help),
        ".SH OPTIONS",
        "These options may precede or follow the name of the command.",
        *_options(root, frozenset()),
        ".SH COMMANDS",
    ]
    shared = frozenset(name for option in root.params for name in option.opts)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        usage = command.get_usage(inner).removeprefix("Usage: ")
        lines += [f".SS {_text(name)}", f".B {_text(' '.join(usage.split()))}", ".PP"]
        lines += [*_prose(command.help), *_options(command, shared)]
    codes = []
    for code, meaning in exit_codes.items():
        codes += [".TP", f".B {code}", _text(f"{meaning}.")]
    lines.append(SECTIONS.format(exit_codes="\n".join(codes)))
    return "\n".join(lines)


def _options(command: click.Command, without: frozenset[str]) -> list[str]:
    lines: list[str] = []
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        if without & set(option.opts):
            continue
        names = ", ".join([*option.opts, *option.secondary_opts])
        takes_value = not (option.is_flag or option.count)
        value = f" {_metavar(option)}" if takes_value else ""
        lines += [".TP", f".B {_text(names + value)}", _line(option.help or "")]
    return [*lines, ".PP"] if lines else []


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.metavar or (option.name or "").upper()


def _prose(text: str | None) -> list[str]:
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.startswith("\b\n"):
            table = textwrap.dedent(paragraph.removeprefix("\b\n"))
            lines += [".nf", *map(_text, table.split("\n")), ".fi", ".PP"]
        elif paragraph:
            lines += [_line(paragraph), ".PP"]
    return lines


def _line(text: str) -> str:
    return _text(" ".join(text.split())) or "\\&"


def _text(text: str) -> str:
    """Return text in which nothing is a command of roff."""
    plain = re.sub(r"`+", "", text).replace("\\", "\\e")
    plain = plain.replace("-", "\\-").replace("'", "\\(aq").replace("\u2026", "...")
    return f"\\&{plain}" if plain.startswith(".") else plain
