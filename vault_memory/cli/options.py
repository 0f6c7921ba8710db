"""The options that every command takes, before or after its name, and what the commands need of them."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vault_memory.cli.terminal import json_text, shown
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from pathlib import Path

    from vault_memory.api import vault_memory
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.cli import progress_bar
    from vault_memory.ingest.lifecycle import Progress
else:
    vault_memory = lazy_module("vault_memory.api.vault_memory")
    progress_bar = lazy_module("vault_memory.cli.progress_bar")

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Context:
    """What the person said beside the command itself."""

    vault: str | None = None
    config: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    now: datetime | None = None

    def open(self) -> "VaultMemory":
        """The vault that is meant."""
        return vault_memory.VaultMemory.open(self.vault, self.config)

    def emit(
        self,
        answer: Mapping[str, Any],
        human: Callable[[], str],
        *,
        verbatim: bool = False,
    ) -> None:
        """The answer to stdout: one JSON object, or what `human` says; `verbatim`: as it is, off a terminal."""
        if self.json:
            click.echo(json_text(answer))
        else:
            write = self.text if verbatim else self.line
            write(human())

    def text(self, text: str) -> None:
        """A note's own text to stdout: to a file or a program byte for byte, to a terminal as it may be shown."""
        if sys.stdout is None:
            return
        ended = text if text.endswith("\n") else f"{text}\n"
        sys.stdout.write(shown(ended) if sys.stdout.isatty() else ended)
        sys.stdout.flush()

    def line(self, text: str, *, err: bool = False) -> None:
        """One line of an answer that comes bit by bit."""
        click.echo(shown(text), err=err, color=coloured())

    def say(self, line: str) -> None:
        """A remark to stderr, unless it should be quiet."""
        if not self.quiet:
            self.line(line, err=True)

    def fail(
        self,
        message: str,
        hint: str,
        code: str,
        exit_code: int,
        error: Mapping[str, object] | None = None,
    ) -> int:
        """An error, where and how the person reads it; gives the exit code back."""
        if self.json:
            import json

            click.echo(
                json.dumps(
                    {"error": error or {"code": code, "message": message, "hint": hint}}
                )
            )
        else:
            self.line(
                f"error: {message}" + (f"\n\nhint: {hint}" if hint else ""), err=True
            )
        return exit_code

    def progress(self) -> "AbstractContextManager[Progress | None]":
        """A bar on stderr for what takes over a second; nothing off a terminal."""
        if self.quiet or self.json or sys.stderr is None or not sys.stderr.isatty():
            return nullcontext()
        return progress_bar.bar()


def coloured() -> bool | None:
    """False when colour is unwelcome; None leaves it to whether this is a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def _keep(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    context = ctx.find_object(Context)
    if context is None:
        context = ctx.obj = Context()
    if value in (None, False):
        return
    if parameter.name == "now":
        value = _time(str(value))
    setattr(context, str(parameter.name), value)
    if parameter.name == "verbose":
        import logging

        logging.basicConfig(
            level=logging.INFO,
            stream=sys.stderr,
            format="%(levelname)s %(name)s: %(message)s",
        )


def _time(said: str) -> datetime:
    try:
        time = datetime.fromisoformat(said)
        if not 1900 <= time.year <= 9000:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"`--now {said}` is no time",
            hint="write 2026-01-31 or 2026-01-31T18:30+01:00",
        ) from None
    return time.astimezone() if time.tzinfo is None else time


def common(function: Function) -> Function:
    """The options of all commands."""
    for decorate in reversed(
        (
            click.option(
                "--vault",
                metavar="PATH",
                callback=_keep,
                expose_value=False,
                help="The vault's folder.",
            ),
            click.option(
                "--config",
                metavar="FILE",
                callback=_keep,
                expose_value=False,
                help="A configuration file.",
            ),
            click.option(
                "--json",
                is_flag=True,
                callback=_keep,
                expose_value=False,
                help="One JSON object on stdout.",
            ),
            click.option(
                "--quiet",
                is_flag=True,
                callback=_keep,
                expose_value=False,
                help="No remarks on stderr.",
            ),
            click.option(
                "--verbose",
                is_flag=True,
                callback=_keep,
                expose_value=False,
                help="Log, and show tracebacks.",
            ),
            click.option(
                "--now",
                metavar="TIME",
                callback=_keep,
                expose_value=False,
                help="Take this time for now.",
            ),
        )
    ):
        function = decorate(function)
    return function


def scoped(function: Function) -> Function:
    """The options that say whose notes are meant."""
    for decorate in reversed(
        (
            click.option(
                "--user",
                "users",
                multiple=True,
                metavar="NAME",
                help="Only this person's notes (repeatable).",
            ),
            click.option(
                "--channel",
                "channels",
                multiple=True,
                metavar="NAME",
                help="Only this channel's notes.",
            ),
            click.option(
                "--group",
                "groups",
                multiple=True,
                metavar="NAME",
                help="Only this group's notes.",
            ),
        )
    ):
        function = decorate(function)
    return function


def private(function: Function) -> Function:
    """The option that opens a person's own notes in a channel."""
    return click.option(
        "--private",
        is_flag=True,
        help="With --channel: also the person's own notes; all in the channel read the answer.",
    )(function)


def named_scopes(
    users: Sequence[str], channels: Sequence[str], groups: Sequence[str]
) -> list[str]:
    """The scopes that were named; none means that the person means all of the vault."""
    return [
        f"{kind}:{name}"
        for kind, names in (("user", users), ("channel", channels), ("group", groups))
        for name in names
    ]


def day(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """A date option: checked here, passed on as ISO 8601."""
    if value is None:
        return None
    from datetime import date

    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise UsageError(
            f"`--{parameter.name} {value}` is no date", hint="write 2026-01-31"
        ) from None


def where(path: "Path") -> str:
    """A path as a person would type it."""
    from pathlib import Path

    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
