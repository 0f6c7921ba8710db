"""The group of all commands, and the translation of errors into messages and exit codes."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from keyword import iskeyword

import click

from vault_memory import __version__
from vault_memory.addons import table
from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import guard_streams
from vault_memory.errors import VaultMemoryError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in a shell"""


COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Create a vault, or use an existing folder as one."),
    "layout": ("init", "Show which files are memory, or set another layout."),
    "demo": ("demo", "Show search, editing and learning on a copy of the sample vault."),
    "run": ("run", "Run the daemon: watch the vault, and keep its index up to date."),
    "index": ("run", "Update the index once."),
    "search": ("search", "Find the lines that answer a question."),
    "context": ("context", "Print the memory that a bot gets for a prompt."),
    "read": ("notes", "Print a note and its revision."),
    "notes": ("notes", "List the notes that search reads."),
    "links": ("notes", "List the links of a note, and the notes that link to it."),
    "edit": ("edit_note", "Edit a note as a text in your editor, and save it as one edit."),
    "append": ("edit", "Add an item to a section of a note."),
    "add-heading": ("edit", "Add a section with its items to a note."),
    "remove": ("edit", "Remove one item of a section."),
    "replace": ("edit", "Rewrite one item of a section."),
    "archive": ("edit", "Move one item to the section Archived."),
    "apply": ("edit", "Apply the ops of a JSON file to a note."),
    "log": ("history", "Show which changes were made, by whom, when and why."),
    "undo": ("history", "Undo the change of one audit record."),
    "history": ("history", "List the stored versions of a note."),
    "restore": ("history", "Restore an earlier version of a note."),
    "forget": ("forget", "Remove a text from everything that is stored, and verify it."),
    "record": ("record", "Record a turn of a conversation."),
    "end-session": ("record", "End a conversation."),
    "compact": ("record", "Sum a conversation up, and end it."),
    "sleep": ("sleep", "Learn from the conversations since the last night."),
    "remember": ("sleep", "Store a text permanently, without waiting for the night."),
    "held": ("record", "List what waits for more turns; keep it or give it up."),
    "feedback": ("record", "Log what you think of an answer or of what is kept."),
    "inbox": ("history", "List the bot's proposals; approve or reject one."),
    "conflicts": ("conflicts", "List conflict copies of sync programs; merge or discard them."),
    "sync": ("sync", "Sync the vault with its server."),
    "remote": ("remote", "Set up sync with a Nextcloud or another WebDAV server."),
    "trash": ("conflicts", "List deleted notes; restore one."),
    "source": ("notes", "Show where something remembered comes from."),
    "facts": ("facts", "List the current facts."),
    "about": ("notes", "Show what is known of a person or a thing: profile, rules, facts, news."),
    "open": ("edit_note", "Open a note in your editor, at a line."),
    "config": ("config_command", "Show, check or change the configuration."),
    "last-night": ("sleep", "Show what was learned in the last night."),
    "timeline": ("facts", "List all facts about a person or thing, past ones included."),
    "entity": ("facts", "Show what is known about a person or thing."),
    "add-fact": ("facts", "Add a fact."),
    "correct": ("facts", "Correct a fact that was never true."),
    "invalidate": ("facts", "End a fact that is no longer true."),
    "delete-fact": ("facts", "Delete a fact."),
    "confirm": ("facts", "Confirm a fact, so that it does not fade."),
    "mcp": ("serve", "Serve the memory of one person as MCP tools over standard input."),
    "serve": ("serve", "Serve bots over HTTP, each with its own token."),
    "host": ("host_command", "Serve and tend all vaults below a folder, in one process."),
    "service": ("service_command", "Let systemd or launchd run the daemon."),
    "models": ("models", "List the models for search by meaning; fetch or remove one."),
    "status": ("status", "Show the state of index, watcher, sync and nights."),
    "stats": ("status", "Count notes and chunks by kind and scope."),
    "doctor": ("status", "Check the installation and the vault for problems."),
    "completion": ("init", "Complete commands and names at the Tab key."),
    **{name: ("", line) for lines in table.COMMANDS.values() for name, line in lines.items()},
}
"""Command → its module below `vault_memory.cli.commands`, and its line in the help

An empty module is that of an add-on."""
GROUPS = {
    "Start": "init layout run demo status doctor",
    "Ask": "search context about read notes links open facts timeline entity source last-night",
    "Change": "remember edit append add-heading replace remove archive apply "
    "add-fact correct confirm invalidate delete-fact",
    "Look over what changed": "web log undo history restore trash conflicts inbox",
    "Learn": "record end-session compact sleep held feedback",
    "Sync": "remote sync",
    "Connect": "install uninstall hook mcp serve host fleet",
    "Look after": "config models service index stats import export forget completion",
}
"""Heading in the help → its commands"""
FIRST = "init run web install search about remember log undo inbox forget doctor".split()
"""Commands that `--help` shows; `help all` shows all"""
UNLISTED = {
    "fact": ("facts", "Group the commands of facts, such as `fact add`."),
    "help": ("", "Show the help of a command, or list all commands."),
}
"""Commands that bring nothing of their own: no list of commands counts them"""
LONGEST_NAME = 14
"""Columns of the names of commands in the help"""


class CommandGroup(click.Group):
    """A group that answers an unknown command with the one that is meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # click explains an option that does not exist.
        if name.startswith("-"):
            return super().resolve_command(ctx, args)
        command = self.get_command(ctx, name)
        if command is None:
            raise _unknown_command(ctx, name, self.list_commands(ctx))
        return name, command, args[1:]


class Commands(CommandGroup):
    """A group that imports a command on first use, so that `--help` and each start are fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *UNLISTED]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        place, _ = (COMMANDS | UNLISTED).get(cmd_name, ("", ""))
        if place:
            module = import_module(f"vault_memory.cli.commands.{place}")
        elif (module_of_addon := table.commands_of(cmd_name)) is not None:
            module = module_of_addon
        else:
            return None
        name = cmd_name.replace("-", "_")
        # Such a name would hide a word or a function of the language.
        if iskeyword(name) or name == "open":
            name += "_"
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_section(formatter, "Commands", {name: COMMANDS[name][1] for name in FIRST})
        more = sum(map(len, grouped_commands().values())) - len(FIRST)
        formatter.write(f"\n{more} more: `vault-memory help all`\n")


def grouped_commands() -> dict[str, dict[str, str]]:
    """Return the lines of all commands under their headings in the help."""
    lines = {name: line for name, (_, line) in COMMANDS.items()}
    groups = {
        heading: {name: lines.pop(name) for name in names.split()}
        for heading, names in GROUPS.items()
    }
    if lines:
        groups["Add-ons"] = lines
    return groups | {package.__name__: table.commands_in(package) for package in table.packages()}


def _write_section(
    formatter: click.HelpFormatter, heading: str, commands: Mapping[str, str]
) -> None:
    # An add-on of another package may bring no command.
    if commands:
        with formatter.section(heading):
            formatter.write_dl(list(commands.items()), col_max=LONGEST_NAME)


def _unknown_command(ctx: click.Context, name: str, commands: Sequence[str]) -> click.UsageError:
    import difflib

    matches = difflib.get_close_matches(name, commands, n=1)
    if matches:
        advice = f"Did you mean `{matches[0]}`?"
    else:
        advice = f"The commands are: {', '.join(commands)}."
    return click.UsageError(f"There is no command `{name}`. {advice}", ctx)


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"vault-memory {__version__}")
        ctx.exit()


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
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


@cli.command("help")
@click.argument("names", nargs=-1, metavar="[all|COMMAND...]")
@common
@click.pass_context
def _help(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of COMMAND, or all commands in groups."""
    place = ctx.find_root()
    if names == ("all",):
        formatter = ctx.make_formatter()
        for heading, commands in grouped_commands().items():
            _write_section(formatter, heading, commands)
        _write_section(formatter, "Also", {name: UNLISTED[name][1] for name in UNLISTED})
        click.echo(formatter.getvalue().strip())
        return
    for name in names:
        if not isinstance(place.command, click.Group):
            raise click.UsageError(f"`{place.info_name}` has no command `{name}`.", place)
        _, command, _ = place.command.resolve_command(place, [name])
        assert command is not None
        place = click.Context(command, parent=place, info_name=name)
    click.echo(place.get_help())


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
            list(arguments), prog_name="vault-memory", standalone_mode=False, obj=context
        )
    except (click.exceptions.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if context.verbose and _is_unexpected(error):
            raise
        return _fail(context, error)
    return code if isinstance(code, int) else 0


def _is_unexpected(error: Exception) -> bool:
    """Return whether `--verbose` shows a traceback of this error."""
    expected = (click.ClickException, VaultMemoryError, BrokenPipeError)
    return not isinstance(error, expected) and not _is_interrupt(error)


def _is_interrupt(error: Exception) -> bool:
    # Python wraps a Ctrl-C that arrives while it creates a class.
    return isinstance(error.__cause__, KeyboardInterrupt)


def _fail(context: Context, error: Exception) -> int:
    """Report an error, and return its exit code."""
    match error:
        case click.ClickException():
            return context.fail(error.format_message(), _hint_of(error), "usage", 2)
        case VaultMemoryError():
            return context.fail(
                error.message, error.hint, error.code, error.exit_code, error.as_json()
            )
        case OSError():
            return fail_for_system(context, error)
    if _is_interrupt(error):
        return INTERRUPTED
    hint = "this is a bug; run the command again with `--verbose` and report the traceback"
    return context.fail(f"{type(error).__name__}: {error}", hint, "internal", 1)


def _hint_of(error: click.ClickException) -> str:
    """Return the next step after a wrong command line."""
    place = getattr(error, "ctx", None)
    # The root has no name of its own in the help.
    if place is None or place.parent is None:
        return "run `vault-memory help all` for the list of commands"
    hint = f"run `{place.command_path} --help` for its arguments and options"
    # A text such as `-4` was taken for an option.
    if isinstance(error, click.NoSuchOption) and not error.option_name.startswith("--"):
        hint += "; write `--` before a text that begins with `-`"
    return hint


def fail_for_system(context: Context, error: OSError) -> int:
    """Report an error of the operating system; a closed pipe is not an error."""
    _drop_unwritten()
    if isinstance(error, BrokenPipeError):
        return 0
    path = f": `{error.filename}`" if error.filename else ""
    message = f"{error.strerror or error}{path}"
    hint = (
        "check that the disk is mounted, writable and not full; run `vault-memory doctor` for more"
    )
    try:
        return context.fail(message, hint, "system", 1)
    except OSError:
        # Stdout itself is full, and the JSON error was to go there.
        return Context().fail(message, hint, "system", 1)


def _drop_unwritten() -> None:
    """Drop output that stdout does not accept."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        # The pipe or the disk refuses the text again when the interpreter flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
