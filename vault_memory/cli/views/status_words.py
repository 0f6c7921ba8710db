"""The state of a vault in words, in sections with headings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, wrapped
from vault_memory.cli.views.times import time_text

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
    from vault_memory.service.host_folder import HostPlace

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
