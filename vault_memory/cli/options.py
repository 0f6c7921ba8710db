"""Options that several commands share, and the context that every command gets."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.api import vault_memory
from vault_memory.cli import progress_bar, screen, search_text
from vault_memory.cli.terminal import json_text, shown
from vault_memory.errors import UsageError
from vault_memory.search import scope_names

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli.screen import Screen
    from vault_memory.ingest.lifecycle import Progress

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Context:
    """The options of every command, and the output of a command in their form."""

    vault: str | None = None
    config: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    now: datetime | None = None
    new: bool = False
    """whether a name may be new although it is nearly that of another person"""
    named: list[str] = field(default_factory=list)
    """the scopes that the options name"""
    told_unknown: bool = False
    """whether a remark about unknown names was printed"""

    def open(self, *, marks: bool = True, makes_names: bool = False) -> "VaultMemory":
        """Open the vault of this command. Without `marks` nothing is written to a new folder.

        With `makes_names` the command makes a person, channel or group that is new. Raises
        NameUnclear for a name that is nearly that of another.
        """
        memory = self.opened(marks)
        if self.named:
            check_names(self, memory, makes_names=makes_names)
        return memory

    def opened(self, marks: bool) -> "VaultMemory":
        """Open the vault, without a look at the names."""
        return vault_memory.VaultMemory.open(self.vault, self.config, marks=marks)

    def emit(
        self,
        answer: Mapping[str, Any],
        human: Callable[[], str],
        *,
        view: "Callable[[Screen], str] | None" = None,
        verbatim: bool = False,
    ) -> None:
        """Write the answer to stdout: one JSON object, or the text that `human` returns.

        A terminal gets what `view` returns, if it is given. `verbatim` writes the text of `human`
        byte for byte unless stdout is a terminal.
        """
        terminal = self.screen() if view else None
        if self.json:
            self.text(json_text(answer))
        elif view and terminal:
            self.line(view(terminal))
        elif verbatim:
            self.text(human())
        else:
            self.line(human())

    def text(self, text: str) -> None:
        """Write the text of a note to stdout; only a terminal gets control characters escaped."""
        # A program that was started with a closed stdout has none.
        if sys.stdout is None:
            return
        ended = text if text.endswith("\n") else f"{text}\n"
        sys.stdout.write(shown(ended) if sys.stdout.isatty() else ended)
        sys.stdout.flush()

    def line(self, text: str, *, err: bool = False) -> None:
        """Write a line to stdout, or to stderr."""
        click.echo(shown(text), err=err, color=coloured())

    def screen(self) -> "Screen | None":
        """Return the terminal on stdout; None for a file or a pipe."""
        # Asked first, so that a command whose output is read by a program loads no more.
        if sys.stdout is None or not sys.stdout.isatty():
            return None
        return screen.screen_of_stdout(self.now)

    def can_ask(self) -> bool:
        """Return whether a person can answer a question: stdin and stdout are terminals."""
        # A program that was started with a closed stdin has no terminal either.
        return os.isatty(0) and os.isatty(1) and not self.json

    def say(self, line: str) -> None:
        """Write a remark to stderr, unless `--quiet` is set. A terminal gets it wrapped."""
        if self.quiet:
            return
        self.line(_fitted_remark(line), err=True)

    def fail(
        self,
        message: str,
        hint: str,
        code: str,
        exit_code: int,
        error: Mapping[str, object] | None = None,
    ) -> int:
        """Report an error as text on stderr or as JSON on stdout, and return the exit code."""
        if self.json:
            import json

            value = error or {"code": code, "message": message, "hint": hint}
            click.echo(json.dumps({"error": value}))
            return exit_code
        advice = f"\n\nhint: {hint}" if hint else ""
        self.line(_fitted_remark(f"error: {message}{advice}"), err=True)
        return exit_code

    def progress(self) -> "AbstractContextManager[Progress | None]":
        """Return a progress bar on stderr; an empty one off a terminal."""
        return progress_bar.bar() if self.can_draw() else nullcontext()

    def can_draw(self) -> bool:
        """Return whether stderr is a terminal on which a line can be drawn again."""
        if self.quiet or self.json:
            return False
        # A program that was started with a closed stderr has none.
        if sys.stderr is None or not sys.stderr.isatty():
            return False
        # A dumb terminal cannot clear a line.
        return not _is_dumb()


def _fitted_remark(text: str) -> str:
    """Return a remark as stderr shows it: wrapped for a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        return screen.wrapped_remark(text)
    return text


def coloured() -> bool | None:
    """Return false when no colour is wanted or shown; None lets click look for a terminal."""
    if os.environ.get("NO_COLOR") or _is_dumb():
        return False
    return None


def _is_dumb() -> bool:
    """Return whether the terminal knows no codes for colours and the cursor."""
    return os.environ.get("TERM") == "dumb"


def _store_in_context(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    context = ctx.find_object(Context)
    if context is None:
        context = ctx.obj = Context()
    # The option may also precede the command; its absence here must not clear that value.
    if value in (None, False):
        return
    if parameter.name == "now":
        value = _time(str(value))
    setattr(context, str(parameter.name), value)
    if parameter.name == "verbose":
        import logging

        logging.basicConfig(
            level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
        )


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        # Times before and after this one are computed, and must be representable, too.
        if not 1900 <= time.year <= 9000:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"`--now {text}` is not a time", hint="write 2026-01-31 or 2026-01-31T18:30+01:00"
        ) from None
    if time.tzinfo is None:
        return time.astimezone()
    return time


def _common_option(name: str, help: str, metavar: str = "") -> Callable[..., Any]:
    """Return an option that goes into the context; without `metavar` it is a flag."""
    return click.option(
        name,
        metavar=metavar or None,
        is_flag=not metavar,
        callback=_store_in_context,
        expose_value=False,
        help=help,
    )


_COMMON = (
    _common_option("--vault", "The folder of the vault.", "PATH"),
    _common_option("--config", "The configuration file to use.", "FILE"),
    _common_option("--json", "Print the answer as one JSON object."),
    _common_option("--quiet", "Print no remarks on stderr."),
    _common_option("--verbose", "Print log messages, and tracebacks of errors."),
    _common_option("--now", "Use TIME as the current time.", "TIME"),
)


def common(function: Function) -> Function:
    """Add the options of every command."""
    for decorate in reversed(_COMMON):
        function = decorate(function)
    return function


def grouped(kind: type, argument: str) -> Callable[[Function], Function]:
    """Pass the options that are fields of the dataclass `kind` as one value named `argument`."""
    names = [field.name for field in fields(kind)]

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            value = kind(**{name: options.pop(name) for name in names if name in options})
            return function(*args, **{argument: value}, **options)

        return call  # type: ignore[return-value]

    return decorate


def scope_option(name: str, *arguments: str, **settings: Any) -> Callable[..., Any]:
    """Return the option `--user`, `--channel` or `--group`; its names are checked."""
    return click.option(name, *arguments, metavar="NAME", callback=_note_names, **settings)


def _note_names(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    context = ctx.find_object(Context)
    names = value if isinstance(value, tuple) else (value,)
    is_default = value == parameter.get_default(ctx)
    # Fault: an empty variable of a script names no one.
    if not is_default and any(name is not None and not name.strip() for name in names):
        option = parameter.opts[0]
        raise UsageError(
            f"`{option}` needs a name",
            hint=f"write `{option} NAME`; `vault-memory stats` lists all names",
        )
    if context is not None:
        kind = parameter.opts[0].removeprefix("--")
        context.named += [f"{kind}:{name}" for name in names if name]
    return value


new_name = _common_option(
    "--new", "Accept a new name that is nearly that of another person, channel or group."
)


@dataclass(frozen=True, slots=True)
class NamedScopes:
    """The scopes that the user names. None means the complete vault."""

    users: tuple[str, ...]
    channels: tuple[str, ...]
    groups: tuple[str, ...]

    def names(self) -> list[str]:
        """Return the scopes in the form `user:NAME`."""
        return named_scopes(self.users, self.channels, self.groups)

    def names_or_all(self, memory: "VaultMemory") -> list[str]:
        """Return the named scopes, else all scopes of the vault, also quite new ones."""
        names = self.names()
        if names:
            return names
        # Fault: without a daemon, the index lacks a person whose first note was just saved.
        if not memory.vault.state.socket.exists():
            memory.refresh(briefly=True)
        return memory.scopes()


def scoped(function: Function) -> Function:
    """Add the options that name scopes; the command gets them as `scopes`, a `NamedScopes`."""
    function = grouped(NamedScopes, "scopes")(function)
    for decorate in (
        new_name,
        scope_option(
            "--group", "groups", multiple=True, help="Only the notes of this group (repeatable)."
        ),
        scope_option(
            "--channel",
            "channels",
            multiple=True,
            help="Only the notes of this channel (repeatable).",
        ),
        scope_option(
            "--user", "users", multiple=True, help="Only the notes of this person (repeatable)."
        ),
    ):
        function = decorate(function)
    return function


def private(function: Function) -> Function:
    """Add the option that opens a person's own notes in a channel."""
    return click.option(
        "--private",
        is_flag=True,
        help="With --channel: include the person's own notes; the whole channel reads the answer.",
    )(function)


DRY_RUN_HELP = "Show what would change; write nothing."
SOURCE_HELP = "Who is editing: `cli` (a person) or `tool` (the bot, limited by policy)."


def dry_run(function: Function) -> Function:
    """Add the option that shows the effect of a command without writing."""
    return click.option("--dry-run", is_flag=True, help=DRY_RUN_HELP)(function)


def edit_source(function: Function) -> Function:
    """Add the option that says whether a person or the bot makes an edit."""
    return click.option(
        "--source",
        type=click.Choice(["cli", "tool"]),
        default="cli",
        show_default=True,
        help=SOURCE_HELP,
    )(function)


def named_scopes(users: Sequence[str], channels: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return the named scopes; an empty list means the complete vault."""
    kinds = (("user", users), ("channel", channels), ("group", groups))
    return [f"{kind}:{name}" for kind, names in kinds for name in names]


def day(ctx: click.Context, parameter: click.Parameter, value: str | None) -> "date | None":
    """Return the value of a date option."""
    if value is None:
        return None
    from datetime import date

    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"`{parameter.opts[0]} {value}` is not a date", hint="write it like 2026-01-31"
        ) from None


def displayed_path(path: "Path") -> str:
    """Return a path below the current folder as a relative one, and any other unchanged."""
    from pathlib import Path

    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


# --- Misspelt and new names ---

# Refuses a misspelt name of a person, channel or group, and reports a new name.


def check_names(context: "Context", memory: "VaultMemory", *, makes_names: bool) -> None:
    """Check the names that the options of a command give. Raises NameUnclear, NotesBelongTo.

    `memory` is closed then.
    """
    # Fault: a wrong letter opens the memory of a person who does not exist, and what is
    # said lands there.
    if context.new:
        return
    try:
        unknown = _unknown_names(context, memory, may_ask=makes_names)
    except BaseException:
        memory.close()
        raise
    if not unknown or context.json:
        return
    if makes_names:
        for scope in unknown:
            kind, _, name = scope.partition(":")
            context.say(f"new {scope_names.NOUNS[kind]}: {name}")
            if kind == "user" and scope_names.sole_owner(memory.searcher):
                context.say(
                    "nobody has named the owner of the notes at the top:"
                    f" `vault-memory init --user {name}`, if they are those of {name}"
                )
        return
    for line in search_text.unknown_scope_texts({"unknown_scopes": unknown}):
        context.say(line)
    context.told_unknown = True


def _unknown_names(context: "Context", memory: "VaultMemory", *, may_ask: bool) -> list[str]:
    """Return the new names. A person at a terminal may accept a second person."""
    try:
        return scope_names.unknown_names(memory.searcher, context.named)
    except scope_names.NotesBelongTo as refusal:
        if not (may_ask and context.can_ask()):
            raise
        context.line(refusal.message)
        if not click.confirm(f"Add {refusal.name} as a second person?"):
            raise
        return [f"user:{refusal.name}"]
