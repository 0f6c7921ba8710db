"""`status`, `stats`, `doctor`: how things stand."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from vault_memory.cli.options import Context, common
from vault_memory.cli.terminal import styled
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from vault_memory.api import json_contract
    from vault_memory.cli import daemon_or_local
    from vault_memory.daemon import query_or_local
else:
    json_contract = lazy_module("vault_memory.api.json_contract")
    daemon_or_local = lazy_module("vault_memory.cli.daemon_or_local")
    query_or_local = lazy_module("vault_memory.daemon.query_or_local")

SIGNS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@click.command()
@common
@click.pass_obj
def status(context: Context) -> None:
    """Say what is indexed, what is watched, and how fresh answers are."""
    found = daemon_or_local.ask_daemon(context, "status")
    if found is None:
        with context.open() as memory:
            query_or_local.without_daemon(memory)
            found = memory.status()
    context.emit(found, lambda: "\n".join(told(found)))


@click.command()
@common
@click.pass_obj
def stats(context: Context) -> None:
    """Count notes and chunks by kind, scope and source."""
    with context.open() as memory:
        found = memory.searcher.stats()
    context.emit(found, lambda: "\n".join(told(found)))


@click.command()
@click.option(
    "--fix",
    is_flag=True,
    help="Mend damaged databases; build a differing index anew. No note is touched.",
)
@common
@click.pass_obj
def doctor(context: Context, fix: bool) -> None:
    """Look for everything that could be wrong, and say what to do about it. Exit code 1 when something failed."""
    with context.open() as memory:
        checks = memory.doctor(fix=fix)

    def human() -> str:
        lines = []
        for check in checks:
            sign, colour = SIGNS[check.state]
            lines.append(f"{styled(sign, fg=colour)}  {check.name}: {check.reason}")
            if check.fix and check.state != "ok":
                lines.append(f"      fix: {check.fix}")
        return "\n".join(lines)

    context.emit(json_contract.of_doctor(checks), human)
    if any(check.state == "fail" for check in checks):
        raise click.exceptions.Exit(1)


def told(found: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """A nested answer as indented lines, what is empty left out."""
    for name, value in found.items():
        if isinstance(value, dict) and value:
            yield f"{before}{name.replace('_', ' ')}:"
            yield from told(value, before + "  ")
        elif value not in (None, "", [], {}):
            shown = ", ".join(map(_one, value)) if isinstance(value, list) else value
            yield f"{before}{name.replace('_', ' ')}: {shown}"


def _one(value: object) -> str:
    """One of a list: a remark about a path as `path: reason`."""
    return (
        ": ".join(str(part) for part in value.values() if part)
        if isinstance(value, dict)
        else str(value)
    )
