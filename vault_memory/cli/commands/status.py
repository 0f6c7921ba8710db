"""`status`, `stats`, `doctor`: the state of the vault and of this installation."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from vault_memory.addons import table
from vault_memory.api import daemon_client, query_or_local, vault_memory
from vault_memory.api import doctor as doctor_checks
from vault_memory.cli import daemon_or_local
from vault_memory.cli.layout_choice import layout_option, open_with_layout
from vault_memory.cli.options import Context, common
from vault_memory.cli.screen import Screen, time_text, wrapped
from vault_memory.cli.terminal import escaped, styled
from vault_memory.config import sections
from vault_memory.contract import as_json
from vault_memory.errors import ConfigError
from vault_memory.search import open_vault
from vault_memory.service import host_folder

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import (
        IndexStatusJson,
        LayoutStatusJson,
        NightJson,
        PathRemarkJson,
        StatusJson,
        SyncStatusJson,
        WatcherJson,
    )
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
        lambda: status_text(report, None, host),
        view=lambda screen: status_text(report, screen, host),
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
            for companion in table.companions("checks"):
                checks += companion.checks(memory)
    except ConfigError as error:
        checks = _checks_without_configuration(context, error)
    context.emit(
        {"checks": as_json(checks)},
        lambda: checks_text(checks, None),
        view=lambda screen: checks_text(checks, screen),
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


INDENT = "  "
START = "vault-memory run"
_MODES = {
    "inotify": "the system reports changes",
    "polling": "the folder is looked at again and again",
}
_SEMANTIC = {
    "ready": "on",
    "warming": "on soon; until then search is by keywords",
    "off": "off; search is by keywords",
}
_SYNC = {
    "ok": "in step",
    "working": "syncing now",
    "waiting": "not in step",
    "held": "waits for your answer",
    "stopped": "stopped",
    "off": "not running",
}

Section = list[str]
"""The lines of a section; empty ones are left out"""


def status_text(
    status: "StatusJson", screen: Screen | None, host: "HostPlace | None" = None
) -> str:
    """Return the state; a terminal gets short times and wrapped lines.

    `host` is the host of a folder above the vault, if one runs.
    """
    sections: Mapping[str, Section] = {
        "Vault": [status["vault"], *_layout(status["layout"])],
        "Daemon": _host(host, status) if host else _daemon(status),
        "Index": _index(status["index"]),
        "Search by meaning": _semantic(status),
        "Nights": _nights(status["night"], screen),
        "Sync": _sync(status["sync"], screen),
        "Waiting for you": _waiting(status),
        "Folders": [
            _labelled("state", status["state_folder"]),
            _labelled("drop", status["drop_folder"]),
        ],
    }
    blocks = []
    for heading, lines in sections.items():
        block = [styled(heading, bold=True)]
        for line in filter(None, lines):
            block += _fitted(line, screen)
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _fitted(line: str, screen: Screen | None) -> list[str]:
    if screen is None:
        return [INDENT + line]
    return wrapped(escaped(line), screen.prose, first=INDENT, indent=INDENT * 2)


def _labelled(label: str, text: str | None) -> str:
    """Return a line with its label; empty without a text or a label."""
    return f"{label}: {text}" if label and text else ""


def _number(count: int, singular: str, plural: str) -> str:
    """Return a number of things in words; empty for none."""
    words = singular if count == 1 else plural
    return f"{count:,} {words}" if count else ""


def _layout(layout: "LayoutStatusJson") -> Section:
    name = layout["name"] or "built-in"
    claimed = _number(layout["claimed"], "Markdown file is", "Markdown files are")
    unclaimed = _number(layout["unclaimed"], "file is not memory", "files are not memory")
    examples = ", ".join(layout["examples"])
    return [
        f"layout {name}: {claimed or 'no file is'} memory",
        unclaimed,
        _labelled("such as", examples),
        unclaimed and f"`{layout['command']}` shows layouts that claim more",
        _number(layout["excluded"], "file is excluded", "files are excluded"),
        _labelled("daily notes", layout["daily"]),
        layout["remark"],
    ]


def _host(host: "HostPlace", status: "StatusJson") -> Section:
    command = f"`vault-memory host --vaults {host.vaults} --status`"
    if not status["daemon"]["running"]:
        return [f"{status['watcher']['reason']}, process {host.pid}", f"{command} tells why"]
    return [
        f"the host of all vaults in {host.vaults} tends this vault, process {host.pid}",
        _watching(status["watcher"]),
        f"{command} shows it",
    ]


def _daemon(status: "StatusJson") -> Section:
    if not status["daemon"]["running"]:
        return [f"not running: start it with `{START}`"]
    return [f"running, process {status['daemon']['pid']}", _watching(status["watcher"])]


def _watching(watcher: "WatcherJson") -> str:
    mode = _MODES.get(watcher["mode"], watcher["mode"])
    # A watcher that works may still have a reason, such as that for polling.
    state = "watching" if watcher["healthy"] else "does not see all changes"
    return _labelled(state, watcher["reason"] or mode)


def _index(index: "IndexStatusJson") -> Section:
    notes = _number(index["notes"], "note", "notes") or "no notes"
    chunks = _number(index["chunks"], "chunk", "chunks") or "no chunks"
    stale = ", ".join(index["stale_files"])
    missing = _number(index["missing_notes"], "note", "notes")
    state = "not up to date" if stale or missing else "up to date"
    parked = index["parked"].items()
    foreign = index["encodings"].items()
    return [
        f"{notes} in {chunks}, {state}",
        _labelled("changed since", stale),
        _labelled("missing, as the vault has too many files", missing),
        *(f"cannot be indexed: {path}: {reason}" for path, reason in parked),
        *(f"cannot be edited: {path}: it is {name}" for path, name in foreign),
    ]


def _semantic(status: "StatusJson") -> Section:
    text = _SEMANTIC.get(status["semantic"], status["semantic"])
    reason = status["reason"]
    return [f"{text} ({reason})" if reason else text]


def _nights(night: "NightJson | None", screen: Screen | None) -> Section:
    if night is None:
        return ["not known: the vault cannot be read"]
    due = ", ".join(night["due"])
    return [
        _labelled("last", time_text(night["last"], screen)) or "none so far",
        _labelled("next", time_text(night["next"], screen)),
        _labelled("due now, for the daemon or `vault-memory sleep`", due),
        _number(night["idle"], "night without anything new", "nights without anything"),
    ]


def _sync(sync: "SyncStatusJson | None", screen: Screen | None) -> Section:
    if sync is None:
        return ["no server is set up"]
    state = _SYNC.get(sync["state"], sync["state"])
    return [
        _labelled(state, sync["reason"]) or state,
        _labelled("server", sync["server"]),
        _labelled("last complete pass", time_text(sync["last_good"], screen)),
        _labelled("next try", time_text(sync["next_try"], screen)),
        _number(sync["queue"], "file waits", "files wait"),
        *(f"failed: {_remark(error)}" for error in sync["errors"]),
        *(f"held: {_remark(remark)}" for remark in sync["held"]),
    ]


def _remark(remark: "PathRemarkJson") -> str:
    # A remark about all files has no path.
    return f"{remark['path']}: {remark['reason']}".removeprefix(": ")


def _waiting(status: "StatusJson") -> Section:
    proposals = _number(status["inbox_open"], "proposal", "proposals")
    copies = _number(status["conflicts"], "conflict copy", "conflict copies")
    writes = (f"{write['note']}: {write['explanation']}" for write in status["pending"])
    lines = [
        _labelled(proposals, "`vault-memory inbox`"),
        _labelled(copies, "`vault-memory conflicts`"),
        _labelled("writes that wait", "; ".join(writes)),
    ]
    return lines if any(lines) else ["nothing"]


SIGNS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}
CHECK_INDENT = "      "


def checks_text(checks: "Sequence[Check]", screen: Screen | None) -> str:
    """Return the checks; a terminal gets them wrapped, with their number at the end."""
    lines = [line for check in checks for line in _check_lines(check, screen)]
    if screen:
        lines += ["", _check_counts(checks)]
    return "\n".join(lines)


def _check_lines(check: "Check", screen: Screen | None) -> Iterator[str]:
    sign, colour = SIGNS[check.state]
    texts = _check_rows(f"{check.name}: {check.reason}", screen)
    yield f"{styled(sign, fg=colour)}  {texts[0].removeprefix(CHECK_INDENT)}"
    yield from texts[1:]
    # A check that is well may name a fix, too, which is of no use then.
    if check.fix and check.state != "ok":
        yield from _check_rows(f"fix: {check.fix}", screen)


def _check_rows(text: str, screen: Screen | None) -> list[str]:
    if screen is None:
        return [CHECK_INDENT + text]
    return wrapped(escaped(text), screen.prose, first=CHECK_INDENT)


def _check_counts(checks: "Sequence[Check]") -> str:
    counts = Counter(check.state for check in checks)
    number = len(checks)
    return f"{number} checks: {counts['fail']} failed, {counts['warn']} with a warning"
