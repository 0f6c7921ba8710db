"""`hook`: a host runs it at each event.

It always ends with exit code 0, in time, and prints an answer or nothing. A host takes other exit
codes for orders: one of them makes it discard the person's prompt.
"""

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.command_line import (
    END_SECONDS,
    HOOK_FLAGS,
    HOOK_SECONDS,
    HOOK_VALUES,
    LARGEST_PAYLOAD,
    Arguments,
    NotPlain,
    parse,
)
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.hosts import programs
from vault_memory.hosts.hook_payload import Event, read_event
from vault_memory.hosts.host import Host
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api import vault_memory
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.hosts import error_log, hook_events, projects
    from vault_memory.hosts.hook_events import EventContext
    from vault_memory.hosts.projects import Project
    from vault_memory.rules.paths import caller as paths_caller
    from vault_memory.rules.paths.caller import Caller
else:
    vault_memory = lazy_module("vault_memory.api.vault_memory")
    error_log = lazy_module("vault_memory.hosts.error_log")
    hook_events = lazy_module("vault_memory.hosts.hook_events")
    projects = lazy_module("vault_memory.hosts.projects")
    paths_caller = lazy_module("vault_memory.rules.paths.caller")

LAST_SECONDS = 2.0
"""At most, after the time is up: to keep the prompt, and to log why there is no answer"""
ANSWER_SECONDS = 2.0
"""Time after which a daemon assumes that the hook has ended without its answer"""
AUTOMATED = "VAULT_MEMORY_AUTOMATED"
"""Set by a job that runs a host: no person typed what the host then sends as a prompt"""
REGISTER = "projects.json"
"""In the state folder: the folders of projects, which most people have none of"""
NO = ("", "0", "false", "no", "off")

Moment = tuple[float, int]
"""Seconds since 1970, and 30 random bits: together they are the id of the turn"""


class _HookCall:
    """The state of one call, from which a failure is logged as exactly as possible."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.host_name = ""
        self.event_name = ""
        self.state: Path | None = None
        self.options = Arguments((), {})
        self.payload: bytes | None = None
        self.moment: Moment | None = None
        self.again = False
        """Whether another process may have recorded the event"""
        self.unrecorded: EventContext | None = None
        """The event whose prompt is not recorded yet"""

    def log_failure(self, reason: str) -> None:
        source = f"{self.host_name} {self.event_name or '-'}"
        error_log.log_failure(self.state, self.environment, source, reason)

    def caller(self) -> "Caller":
        options = self.options
        return paths_caller.Caller(
            options.last("user"),
            options.last("channel"),
            options.all("group"),
            "private" in options.options,
        )


def run(
    arguments: Sequence[str],
    *,
    seconds: float = HOOK_SECONDS,
    payload: bytes | None = None,
    moment: "Moment | None" = None,
) -> int:
    """Answer one event; the exit code, which is always 0.

    `payload` is standard input, where it was read already. `moment` is that of an attempt which may
    have recorded the event: it is not recorded again.
    """
    call = _HookCall(os.environ)
    call.payload, call.moment, call.again = payload, moment, moment is not None
    timer = _end_after(seconds, call)
    try:
        _write(_answer(call, arguments))
    except VaultMemoryError as error:
        call.log_failure(f"{error.code}: {error.message}")
    except BaseException as error:
        call.log_failure(f"{type(error).__name__} {_place_of(error)}")
    timer.cancel()
    return 0


def serve(
    memory: "VaultMemory",
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """Answer an event in a process that has the vault open. Raises VaultMemoryError."""
    call = _HookCall({})
    host = _parse_arguments(call, arguments["arguments"])
    seconds, chance = arguments["moment"]
    call.moment = (float(seconds), int(chance))
    # Fault: by then the host's own process has stopped waiting, and has recorded the
    # event itself. A second record would double the turn.
    call.again = time.time() - call.moment[0] > ANSWER_SECONDS
    event = read_event(host, arguments["payload"].encode("utf-8"))
    caller = call.caller()
    if event.is_silent:
        return {"text": ""}
    if arguments["automated"]:
        event = event._replace(is_automated=True)
    return {"text": _carry_out(call, memory, host, event, caller)}


def _answer(
    call: _HookCall,
    arguments: Sequence[str],
) -> str:
    host = _parse_arguments(call, arguments)
    if call.payload is None:
        # Fault: a host may send without end. One byte more than the limit shows that.
        call.payload = sys.stdin.buffer.read(LARGEST_PAYLOAD + 1)
    event = read_event(host, call.payload)
    call.event_name = event.name
    if event.kind == "end":
        _end_after(END_SECONDS, call)
    caller = call.caller()
    if event.is_silent:
        return ""
    if call.environment.get(AUTOMATED, "").strip().casefold() not in NO:
        event = event._replace(is_automated=True)
    vault, config = call.options.last("vault"), call.options.last("config")
    with vault_memory.VaultMemory.open(vault or None, config or None) as memory:
        call.state = memory.vault.state.path
        return _carry_out(call, memory, host, event, caller)


def _carry_out(
    call: _HookCall,
    memory: "VaultMemory",
    host: Host,
    event: Event,
    caller: "Caller",
) -> str:
    project = _project_of(memory, host, event)
    if project is not None:
        # What is said beside the code belongs to the project. The person works there alone.
        caller = caller._replace(
            channel=project.name, groups=(*caller.groups, project.name), private=True
        )
    elif "projects" in call.options.options:
        return ""
    now, chance = _parse_time(call.options.last("now")), None
    if call.moment is not None:
        seconds, chance = call.moment
        now = now or _local_time(seconds)
    context = hook_events.EventContext(memory, host, event, caller, now)
    if hook_events.is_of_nobody(context):
        return hook_events.refusal(context)
    if event.kind == "prompt":
        call.unrecorded = context
    try:
        # Fault: the answer comes before the record. A search would find the prompt
        # itself.
        return hook_events.answer(context)
    finally:
        call.unrecorded = None
        hook_events.record(context, chance, again=call.again)


def _project_of(
    memory: "VaultMemory",
    host: Host,
    event: Event,
) -> "Project | None":
    """Return the project in whose folder the host works."""
    state = memory.vault.state.path
    # Most people have no projects: nothing more is loaded for them.
    if not event.folder or not (state / REGISTER).exists():
        return None
    project = projects.Projects(state).of(event.folder)
    return project if project and host.name in project.hosts else None


def _parse_arguments(
    call: _HookCall,
    arguments: Sequence[str],
) -> Host:
    """Return the host, and note the options."""
    # click would take as long as everything else together: `parse` replaces it.
    names = programs.names()
    # The log needs the name of the host, also if the command line is wrong.
    call.host_name = next((word for word in arguments if word in names), "")
    try:
        call.options = parse(arguments, HOOK_VALUES, HOOK_FLAGS)
    except NotPlain as problem:
        raise UsageError(
            f"{problem}", hint="`vault-memory hook --help` lists the options"
        ) from None
    name, *more = call.options.arguments or [""]
    call.host_name = name
    if more:
        raise UsageError(f"`hook` takes one host, and not `{more[0]}` too")
    host = programs.host(name) if name in names else None
    if host is None or not host.events:
        callers = ", ".join(host.name for host in programs.hosts() if host.events)
        reason = f"`{name}` calls no hooks" if name else "`hook` needs a host"
        raise UsageError(reason, hint=f"name one of {callers}")
    return host


def _parse_time(text: str) -> "datetime | None":
    """Return the time that `--now` gives; None without it."""
    if not text:
        return None
    from datetime import datetime

    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"`--now {text}` is no time") from None
    return now if now.tzinfo else now.astimezone()


def _local_time(seconds: float) -> "datetime":
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone()


def _end_after(
    seconds: float,
    call: _HookCall,
) -> threading.Timer:
    """Start the timer that ends the process, should the call take longer."""
    timer = threading.Timer(seconds, _give_up, [call, seconds])
    timer.daemon = True
    timer.start()
    return timer


def _give_up(
    call: _HookCall,
    seconds: float,
) -> None:
    """End the process, wherever the main thread is."""

    # Every file that the main thread writes survives an end at any moment.

    def keep_and_log() -> None:
        call.log_failure(
            f"no answer within {round(seconds, 1):g} seconds; `vault-memory index`"
            " reads a new vault, `vault-memory doctor` looks for more"
        )
        if call.unrecorded is not None:
            hook_events.drop_prompt(call.unrecorded)

    worker = threading.Thread(target=keep_and_log, daemon=True)
    worker.start()
    # Fault: a slow disk may be the cause. Then the host must not wait for the log,
    # either.
    worker.join(LAST_SECONDS)
    os._exit(0)


def _place_of(error: BaseException) -> str:
    """Return file and line of an error."""
    # Fault (H126): the message of an error could repeat what was said, which must not
    # be in a log.
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    file = os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"at {file}:{trace.tb_lineno}"


def _write(text: str) -> None:
    raw = text.encode("utf-8")
    while raw:
        # Fault: a pipe takes fewer bytes than it is given when the host reads slowly.
        written = os.write(1, raw)
        raw = raw[written:]
