"""`status`, `stats`, `doctor`: the state of the vault and of this installation."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from vault_memory.addons import table
from vault_memory.api import daemon_client, query_or_local, vault_memory
from vault_memory.api import doctor as doctor_checks
from vault_memory.cli import daemon_or_local
from vault_memory.cli.layout_choice import layout_option, open_with_layout
from vault_memory.cli.options import Context, common
from vault_memory.cli.views import check_lines, status_words
from vault_memory.config import sections
from vault_memory.contract import as_json
from vault_memory.errors import ConfigError
from vault_memory.search import open_vault
from vault_memory.service import host_folder

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import StatusJson, WatcherJson
    from vault_memory.edits.reports import Check
    from vault_memory.service.host_folder import HostPlace


@click.command()
@common
@click.pass_obj
def status(context: Context) -> None:
    """Show what is indexed and watched, how sync and nights are doing, and what waits."""
    host = None
    with context.open(marks=False) as memory:
        report = daemon_or_local.daemon_status(memory)
        if report is None:
            query_or_local.without_daemon(memory)
            report = memory.status(now=context.now)
            # Fault: a daemon that is started on the vault of a host is refused.
            host = host_folder.host_of(memory.root, os.environ)
            if host is not None:
                _add_host(report, host, memory.vault.marker.vault)
    context.emit(
        report,
        lambda: status_words.status_text(report, None, host),
        view=lambda screen: status_words.status_text(report, screen, host),
    )


def _add_host(report: "StatusJson", host: "HostPlace", vault: str) -> None:
    """Add to a status how a host tends the vault, if it does."""
    socket = host_folder.host_folder(host.vaults, os.environ).socket
    try:
        watcher = daemon_client.ask(socket, "watcher", {"vault": vault})
    except daemon_client.DaemonRefused as error:
        # The host does not serve this vault. Its own status tells why.
        report["watcher"]["reason"] = error.message
        return
    if watcher is None:
        report["watcher"]["reason"] = "the host does not answer"
        return
    report["watcher"] = cast("WatcherJson", watcher)
    report["daemon"] = {"running": True, "pid": host.pid}


@click.command()
@common
@click.pass_obj
def stats(context: Context) -> None:
    """Count notes and chunks by kind, scope and source."""
    with context.open(marks=False) as memory:
        counts = memory.searcher.stats()
    context.emit(counts, lambda: "\n".join(nested_lines(counts)))


@click.command()
@click.option(
    "--fix",
    is_flag=True,
    help="Repair damaged databases, and rebuild an index that differs. Notes are not changed.",
)
@layout_option
@common
@click.pass_obj
def doctor(context: Context, fix: bool, layout: str | None) -> None:
    """Check the vault and this installation, and name a fix for each problem.

    Exit code 1 means that a check failed.
    """
    try:
        with open_with_layout(context, layout) as memory:
            checks = memory.doctor(fix=fix)
            host_checks = table.optional_part("hosts.host_checks")
            if host_checks:
                checks += host_checks.checks(memory)
    except ConfigError as error:
        checks = _checks_without_configuration(context, error)
    context.emit(
        {"checks": as_json(checks)},
        lambda: check_lines.checks_text(checks, None),
        view=lambda screen: check_lines.checks_text(checks, screen),
    )
    if any(check.state == "fail" for check in checks):
        raise click.exceptions.Exit(1)


def _checks_without_configuration(context: Context, error: ConfigError) -> "list[Check]":
    """Check a vault whose configuration is wrong. Raises ConfigError when its file is missing."""
    open_vault.config_file_of(context.vault, context.config, os.environ)
    defaults = sections.Config()
    with vault_memory.VaultMemory.open(context.vault, defaults, marks=False) as memory:
        return doctor_checks.examine_without_configuration(memory, error)


def nested_lines(report: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield a nested report as indented lines, without empty values."""
    for name, value in report.items():
        label = name.replace("_", " ")
        if isinstance(value, dict) and value:
            yield f"{indent}{label}:"
            yield from nested_lines(value, f"{indent}  ")
        elif value not in (None, "", [], {}):
            yield f"{indent}{label}: {_value_text(value)}"


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_entry_text, value))
    return str(value)


def _entry_text(entry: object) -> str:
    """Render an entry of a list; a remark about a path becomes `path: reason`."""
    if isinstance(entry, dict):
        return ": ".join(str(value) for value in entry.values() if value)
    return str(entry)
