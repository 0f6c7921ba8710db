"""All commands together, and what becomes of whatever they raise."""

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


class Commands(click.Group):
    """A group that imports a command when it is asked for, so that `--help` and each start stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"vault_memory.cli.commands.{COMMANDS[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(
            module, f"{name}_" if iskeyword(name) else name
        )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = (
                f" Did you mean `{near[0]}`?"
                if near
                else f" The commands are: {', '.join(COMMANDS)}."
            )
            raise click.UsageError(f"There is no command `{args[0]}`.{guess}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda *a: _version(*a),
)
@common
def cli() -> None:
    """A bot's memory as a folder of Markdown that people edit by hand.

    The vault is --vault, else VAULT_MEMORY_VAULT, else the nearest folder upward that is one.
    """


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"vault-memory {version('vault-memory')}")
        ctx.exit()


def run(given: Sequence[str]) -> int:
    """One command's exit code. No error reaches a person as a traceback, unless --verbose asks."""
    options = given[: given.index("--")] if "--" in given else given
    context = Context(
        json="--json" in options
    )  # known before anything is parsed, so that each error is said in JSON
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # a name or a terminal need not be UTF-8
    guard_streams()
    try:
        code = cli.main(
            list(given), prog_name="vault-memory", standalone_mode=False, obj=context
        )
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        code = context.fail(
            error.format_message(),
            "`vault-memory --help` lists what there is",
            "usage",
            2,
        )
    except VaultMemoryError as error:
        code = context.fail(
            error.message, error.hint, error.code, error.exit_code, error.as_json()
        )
    except OSError as error:
        if context.verbose and not isinstance(error, BrokenPipeError):
            raise
        code = fail_for_system(context, error)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if isinstance(
            error.__cause__, KeyboardInterrupt
        ):  # while a class was made, Python wraps it
            return 130
        if context.verbose:
            raise
        hint = "this is a bug; run it again with --verbose to see where"
        code = context.fail(f"{type(error).__name__}: {error}", hint, "internal", 1)
    return code if isinstance(code, int) else 0


def fail_for_system(context: Context, error: OSError) -> int:
    """Tell what the system refused; a reader who has gone is told nothing."""
    _drop_unwritten()
    if isinstance(error, BrokenPipeError):
        return 0
    about = f": `{error.filename}`" if error.filename else ""
    hint = "is the disk full, read-only, or gone? `vault-memory doctor` may know more"
    message = f"{error.strerror or error}{about}"
    try:
        return context.fail(message, hint, "system", 1)
    except OSError:  # stdout is what is full, and the error was to go there as JSON
        return Context().fail(message, hint, "system", 1)


def _drop_unwritten() -> None:
    """What stdout does not take is let go of, or the interpreter complains when it flushes at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
