"""The group of all commands, and the translation of errors into messages and exit codes."""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

import click

from vault_memory.cli import COMMANDS
from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import guard_streams
from vault_memory.errors import VaultMemoryError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in a shell"""


class Commands(click.Group):
    """A group that imports a command on first use, so that `--help` and each start are fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"vault_memory.cli.commands.{COMMANDS[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        if iskeyword(name):
            name += "_"
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _unknown_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            rows = [(name, summary) for name, (_, summary) in COMMANDS.items()]
            formatter.write_dl(rows)


def _unknown_command(ctx: click.Context, name: str) -> click.UsageError:
    import difflib

    matches = difflib.get_close_matches(name, COMMANDS, n=1)
    if matches:
        advice = f"Did you mean `{matches[0]}`?"
    else:
        advice = f"The commands are: {', '.join(COMMANDS)}."
    return click.UsageError(f"There is no command `{name}`. {advice}", ctx)


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"vault-memory {version('vault-memory')}")
        ctx.exit()


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@common
def cli() -> None:
    """The memory of a bot, as a folder of Markdown that people edit by hand.

    A command uses the vault that --vault names, else the one in VAULT_MEMORY_VAULT.
    Without either it looks for a vault in the current folder and the folders above it.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    An error becomes a message. Only `--verbose` shows a traceback.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    # Errors of the parser must be JSON, too, so `--json` is looked up before it runs.
    context = Context(json="--json" in arguments[:end])
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name may hold bytes that are not UTF-8, and a terminal may lack letters.
        sys.stdout.reconfigure(errors="backslashreplace")
    guard_streams()
    try:
        code = cli.main(
            list(arguments),
            prog_name="vault-memory",
            standalone_mode=False,
            obj=context,
        )
    except (click.exceptions.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        hint = "run `vault-memory --help` for the list of commands"
        return context.fail(error.format_message(), hint, "usage", 2)
    except VaultMemoryError as error:
        return context.fail(
            error.message,
            error.hint,
            error.code,
            error.exit_code,
            error.as_json(),
        )
    except OSError as error:
        if context.verbose and not isinstance(error, BrokenPipeError):
            raise
        return fail_for_system(context, error)
    except Exception as error:
        # Python wraps a Ctrl-C that arrives while it creates a class.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        if context.verbose:
            raise
        hint = "this is a bug; run the command again with `--verbose` and report the traceback"
        return context.fail(f"{type(error).__name__}: {error}", hint, "internal", 1)
    return code if isinstance(code, int) else 0


def fail_for_system(context: Context, error: OSError) -> int:
    """Report an error of the operating system; a closed pipe is not an error."""
    _drop_unwritten()
    if isinstance(error, BrokenPipeError):
        return 0
    path = f": `{error.filename}`" if error.filename else ""
    message = f"{error.strerror or error}{path}"
    hint = "check that the disk is mounted, writable and not full; run `vault-memory doctor` for more"
    try:
        return context.fail(message, hint, "system", 1)
    except OSError:
        # Stdout itself is full, and the JSON error was to go there.
        return Context().fail(message, hint, "system", 1)


def _drop_unwritten() -> None:
    """Drop output that stdout does not accept; else the interpreter complains when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
