"""The command line: parses, calls, prints. Every command is imported only when it is run."""

import gc
import io
import os
import sys
from importlib import import_module
from keyword import iskeyword

import click

from vault_memory.cli.options import Context, common
from vault_memory.errors import VaultMemoryError

__all__ = ["cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("vaults", "Make a vault with example notes, or take a folder as one."),
    "demo": ("demo", "Show the whole loop once, on a copy of the sample vault."),
    "run": ("run", "Watch the vault and keep its index fresh, until stopped."),
    "index": ("indexing", "Bring the index up to date with the notes."),
    "search": ("search", "Find the lines that answer a question."),
    "context": ("context", "Print what a bot's prompt gets of the memory."),
    "read": ("notes", "Print a note as it is now, with its revision."),
    "notes": ("notes", "List the notes that search reads."),
    "append": ("ops", "Add an item to a section of a note."),
    "add-heading": ("ops", "Add a section with its items to a note."),
    "remove": ("ops", "Remove one item of a section."),
    "replace": ("ops", "Rewrite one item of a section."),
    "apply": ("ops", "Carry out ops from a JSON file."),
    "log": ("past", "Show what was changed, by whom, when and why."),
    "undo": ("past", "Take back what one record of the log did."),
    "history": ("past", "List the versions of a note that are kept."),
    "restore": ("past", "Put a version of a note there again."),
    "forget": ("forget", "Take a text out of everything that is kept, and make sure."),
    "record": ("talk", "Record what somebody said, or the bot."),
    "end-session": ("talk", "Say that a conversation is over."),
    "sleep": ("sleep", "Learn from what was said since the last night."),
    "remember": ("sleep", "Keep a text for good, at once."),
    "inbox": ("past", "List what waits for your decision, approve or reject it."),
    "conflicts": ("conflicts", "List copies that sync programs left beside notes, merge or discard them."),
    "sync": ("sync", "Bring the vault and its remote in step."),
    "remote": ("remote", "Set up the Nextcloud or WebDAV folder to keep in step with."),
    "trash": ("conflicts", "List what was thrown away, and bring it back."),
    "facts": ("facts", "List the facts that hold now."),
    "timeline": ("facts", "List all that is or was known of somebody or something."),
    "entity": ("facts", "Show who or what a name means, and where it is mentioned."),
    "add-fact": ("facts", "State a fact."),
    "correct": ("facts", "Put right a fact that was wrong from the start."),
    "invalidate": ("facts", "Strike a fact through that is no longer so."),
    "delete-fact": ("facts", "Take a fact off its page."),
    "confirm": ("facts", "Say that a fact is so."),
    "import": ("moving", "Take in what another system knew."),
    "export": ("moving", "Write all that is known as files and JSON Lines."),
    "install": ("hosts", "Plug the vault into a program that people talk to."),
    "hook": ("hosts", "Answer one event of such a program, which comes on standard input."),
    "mcp": ("mcp", "Give a model the memory of one person as MCP tools, over standard input and output."),
    "serve": ("serve", "Answer bots over HTTP, each with a token of its own."),
    "service": ("units", "Let systemd or launchd keep the daemon running."),
    "status": ("state", "Say what is indexed, watched and fresh."),
    "stats": ("state", "Count notes and chunks by kind and scope."),
    "doctor": ("state", "Look for everything that could be wrong."),
}
"""Name → the module below `vault_memory.cli.commands` that has it, and its line in the help."""


class Commands(click.Group):
    """A group that imports a command when it is asked for, so that `--help` and each start stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"vault_memory.cli.commands.{COMMANDS[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_" if iskeyword(name) else name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f" Did you mean `{near[0]}`?" if near else f" The commands are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command `{args[0]}`.{guess}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda *a: _version(*a))
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


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code. No error reaches a person as a traceback, unless --verbose asks."""
    gc.set_threshold(100_000)  # loading modules makes no garbage: looking for it takes a tenth of a short command
    given = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if given[0] == "hook" and not {"-h", "--help"} & set(given):
        from vault_memory.hosts import run

        sys.exit(run(given[1:]))  # before anything else can fail: an exit code of it would stop the bot
    options = given[: given.index("--")] if "--" in given else given
    context = Context(json="--json" in options)  # known before anything is parsed, so that each error is said in JSON
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name or a terminal need not be UTF-8
    try:
        code = cli.main(given, prog_name="vault-memory", standalone_mode=False, obj=context)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        code = context.fail(error.format_message(), "`vault-memory --help` lists what there is", "usage", 2)
    except VaultMemoryError as error:
        code = context.fail(error.message, error.hint, error.code, error.exit_code, error.as_json())
    except BrokenPipeError:
        _drop_unwritten()
        code = 0
    except OSError as error:
        if context.verbose:
            raise
        _drop_unwritten()
        about = f": `{error.filename}`" if error.filename else ""
        hint = "is the disk full, read-only, or gone? `vault-memory doctor` may know more"
        code = context.fail(f"{error.strerror or error}{about}", hint, "system", 1)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if context.verbose:
            raise
        hint = "this is a bug; run it again with --verbose to see where"
        code = context.fail(f"{type(error).__name__}: {error}", hint, "internal", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _drop_unwritten() -> None:
    """What stdout does not take is let go of, or the interpreter complains when it flushes at its end."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
