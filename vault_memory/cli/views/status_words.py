"""The state of a vault in words, in sections with headings."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from vault_memory.cli.terminal import escaped, styled
from vault_memory.cli.views.screen import Screen, wrapped
from vault_memory.cli.views.times import time_text

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import (
        LayoutStatusJson,
        NightJson,
        PathRemarkJson,
        StatusJson,
        SyncStatusJson,
    )

INDENT = "  "
START = "vault-memory run"

Section = Iterator[str]


def status_text(
    status: "StatusJson",
    screen: Screen | None,
) -> str:
    """Return the state; a terminal gets short times and wrapped lines."""
    sections: Mapping[str, Section] = {
        "Vault": _vault(status),
        "Daemon": _daemon(status),
        "Index": _index(status),
        "Search by meaning": _semantic(status),
        "Nights": _nights(status["night"], lambda text: time_text(text, screen)),
        "Sync": _sync(status["sync"], lambda text: time_text(text, screen)),
        "Waiting for you": _waiting(status),
        "Folders": _folders(status),
    }
    blocks = []
    for heading, lines in sections.items():
        block = [styled(heading, bold=True)]
        for line in lines:
            block += _fitted(line, screen)
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _fitted(
    line: str,
    screen: Screen | None,
) -> list[str]:
    if screen is None:
        return [INDENT + line]
    return wrapped(escaped(line), screen.prose, first=INDENT, indent=INDENT * 2)


def _vault(status: "StatusJson") -> Section:
    yield status["vault"]
    yield from _layout(status["layout"])


def _layout(layout: "LayoutStatusJson") -> Section:
    name = layout["name"] or "built-in"
    claimed = _number(layout["claimed"], "Markdown file is", "Markdown files are")
    yield f"layout {name}: {claimed} memory"
    if layout["unclaimed"]:
        examples = ", ".join(layout["examples"])
        unclaimed = _number(layout["unclaimed"], "file is", "files are")
        yield f"{unclaimed} not memory ({examples}): `{layout['command']}`"
    excluded = layout["excluded"]
    details = (
        excluded and f"{_number(excluded, 'file is', 'files are')} excluded",
        layout["daily"] and f"daily notes: {layout['daily']}",
        layout["remark"],
    )
    yield from filter(None, details)


def _daemon(status: "StatusJson") -> Section:
    if not status["daemon"]["running"]:
        yield f"not running: start it with `{START}`"
        return
    watcher = status["watcher"]
    modes = {
        "inotify": "the system reports changes",
        "polling": "the folder is looked at again and again",
    }
    yield f"running, process {status['daemon']['pid']}"
    mode = modes.get(watcher["mode"], watcher["mode"])
    # A watcher that works may still have a reason, such as that for polling.
    state = "watching" if watcher["healthy"] else "does not see all changes"
    yield f"{state}: {watcher['reason'] or mode}"


def _index(status: "StatusJson") -> Section:
    index = status["index"]
    notes = _number(index["notes"], "note", "notes")
    chunks = _number(index["chunks"], "chunk", "chunks")
    stale = index["stale_files"]
    state = "not up to date" if stale else "up to date"
    yield f"{notes} in {chunks}, {state}"
    if stale:
        yield f"changed since: {', '.join(stale)}"
    for path, reason in index["parked"].items():
        yield f"cannot be indexed: {path}: {reason}"


def _semantic(status: "StatusJson") -> Section:
    states = {
        "ready": "on",
        "warming": "on soon; until then search is by keywords",
        "off": "off; search is by keywords",
    }
    text = states.get(status["semantic"], status["semantic"])
    reason = status["reason"]
    yield f"{text} ({reason})" if reason else text


def _nights(
    night: "NightJson | None",
    time: Callable[[str], str],
) -> Section:
    if night is None:
        yield "not known: the vault cannot be read"
        return
    yield f"last: {time(night['last'])}" if night["last"] else "none so far"
    if night["next"]:
        yield f"next: {time(night['next'])}"
    if night["due"]:
        names = ", ".join(night["due"])
        yield f"due now: {names}; the daemon or `vault-memory sleep` runs them"
    if night["idle"] > 1:
        yield f"nothing was learned for {night['idle']} nights"


def _sync(
    sync: "SyncStatusJson | None",
    time: Callable[[str], str],
) -> Section:
    if sync is None:
        yield "no server is set up"
        return
    states = {
        "ok": "in step",
        "working": "syncing now",
        "waiting": "not in step",
        "held": "waits for your answer",
        "stopped": "stopped",
        "off": "not running",
    }
    state = states.get(sync["state"], sync["state"])
    reason = sync["reason"]
    yield f"{state}: {reason}" if reason else f"{state} with {sync['server']}"
    if reason:
        yield f"server: {sync['server']}"
    queue = sync["queue"]
    details = (
        sync["last_good"] and f"last complete pass: {time(sync['last_good'])}",
        sync["next_try"] and f"next try: {time(sync['next_try'])}",
        queue and _number(queue, "file waits", "files wait"),
    )
    yield from filter(None, details)
    yield from (f"failed: {_remark(error)}" for error in sync["errors"])
    yield from (f"held: {_remark(remark)}" for remark in sync["held"])


def _remark(remark: "PathRemarkJson") -> str:
    # A remark about all files has no path.
    return f"{remark['path']}: {remark['reason']}".removeprefix(": ")


def _waiting(status: "StatusJson") -> Section:
    proposals = status["inbox_open"]
    copies = status["conflicts"]
    if not (proposals or copies or status["pending"]):
        yield "nothing"
    if proposals:
        yield f"{_number(proposals, 'proposal', 'proposals')}: `vault-memory inbox`"
    if copies:
        count = _number(copies, "conflict copy", "conflict copies")
        yield f"{count}: `vault-memory conflicts`"
    for write in status["pending"]:
        yield f"a write to {write['note']} waits: {write['explanation']}"


def _folders(status: "StatusJson") -> Section:
    yield f"state: {status['state_folder']}"
    yield f"drop: {status['drop_folder']}"


def _number(
    count: int,
    singular: str,
    plural: str,
) -> str:
    return f"{count:,} {singular if count == 1 else plural}"
