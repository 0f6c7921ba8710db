"""`hook`: a host runs it at each event.

It always ends with exit code 0, in time, and prints an answer or nothing. A host takes other exit
codes for orders: one of them makes it discard the person's prompt.
"""

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory.addons.hosts import error_log, hook_events, programs, projects, recording
from vault_memory.addons.hosts.hook_payload import Event, read_event, time_of
from vault_memory.addons.hosts.host import Host
from vault_memory.addons.hosts.own_notes import adopted, note_exchange
from vault_memory.api import vault_memory
from vault_memory.command_line import (
    DAEMON_SECONDS,
    HOOK_FLAGS,
    HOOK_SECONDS,
    HOOK_VALUES,
    LARGEST_PAYLOAD,
    Arguments,
    NotPlain,
    parse,
)
from vault_memory.config import state_file
from vault_memory.conversations import sessions
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.learning import checkpoint
from vault_memory.rules.paths import scopes
from vault_memory.vault import locate, marker, state_dir

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.addons.hosts.hook_events import EventContext
    from vault_memory.addons.hosts.recording import EventTurn
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.rules.paths.scopes import Caller
    from vault_memory.vault.state_dir import StateFolder

WAIT_SECONDS = 2.0
"""How long a hook waits for the process that goes on without it. At the end of a conversation hosts
wait for three seconds or less."""
DETACHED_SECONDS = 120.0
"""At most, for that process"""
LAST_SECONDS = 2.0
"""At most, after the time is up: to keep the prompt, and to log why there is no answer"""
AUTOMATED = "VAULT_MEMORY_AUTOMATED"
"""Set by a job that runs a host: no person typed what the host then sends as a prompt"""
REPORTS = ("answer", "turn", "compact", "end")
"""Events that need no answer: the hook may end before they are carried out"""
EXCHANGING = ("start", "answer", "turn", "end")
"""Events at which notes are exchanged with a program that writes some by itself"""
SESSIONS = "sessions"
"""In the state folder: the conversations"""
RECORD_LOCK = "hook.lock"
"""In the state folder: held while a hook records what was said"""
LOCK_SECONDS = 0.5
REGISTER = "projects.json"
"""In the state folder: the folders of projects, which most people have none of"""
ADOPTED = "adopted"
"""In the state folder: what hosts write by themselves, and is in the vault"""
NO = ("", "0", "false", "no", "off")


class _HookCall:
    """The state of one call, from which a failure is logged as exactly as possible."""

    def __init__(self, environment: Mapping[str, str], moment: float | None = None) -> None:
        self.environment = environment
        self.moment = time.time() if moment is None else moment
        """When the event happened, in seconds since 1970: the same for each attempt"""
        self.patience = DAEMON_SECONDS
        """Seconds that a daemon has for its answer"""
        self.host_name = ""
        self.event_name = ""
        self.state: Path | None = None
        self.options = Arguments((), {})
        self.payload: bytes | None = None
        self.timer: threading.Timer | None = None
        self.is_detached = False
        """Whether this is the process that goes on after the hook has ended"""
        self.has_learned = False
        """Whether a process of its own learns what was said before"""
        self.keep: Callable[[], None] = lambda: None
        """Puts what the event says into the drop folder, until it is recorded"""

    def end_after(self, seconds: float) -> None:
        """Start the timer that ends the process, should the call take longer."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = threading.Timer(seconds, _give_up, [self, seconds])
        self.timer.daemon = True
        self.timer.start()

    def log_failure(self, reason: str) -> None:
        source = f"{self.host_name} {self.event_name or '-'}"
        error_log.log_failure(self.state, self.environment, source, reason)

    def log_error(self, error: BaseException) -> None:
        if isinstance(error, VaultMemoryError):
            self.log_failure(f"{error.code}: {error.message}")
        else:
            self.log_failure(f"{type(error).__name__} {_place_of(error)}")

    def caller(self) -> "Caller":
        options = self.options
        return scopes.Caller(
            options.last("user"),
            options.last("channel"),
            options.all("group"),
            "private" in options.options,
        )

    def time(self) -> "datetime":
        """Return when the event happened, or what `--now` says."""
        return time_of(self.options.last("now"), self.moment)

    def read_words(self, context: "EventContext") -> "list[EventTurn]":
        """Return what the event says. It is kept if it cannot be recorded."""
        event, caller, now = context.event, context.caller, context.now
        turns = recording.turns_of(event, caller, now, None)
        # Fault: the disk of the vault may not answer, and the time is over before it does.
        self.keep = partial(recording.drop, context, turns)
        if not turns:
            return turns
        try:
            before = recording.recorded_before(context)
        except (VaultMemoryError, OSError):
            return turns
        turns = recording.turns_of(event, caller, now, before)
        self.keep = partial(recording.drop, context, turns)
        return turns

    def record(self, context: "EventContext", turns: "Sequence[EventTurn]") -> None:
        """Record what the event says, or keep it. Raises UsageError for what nothing can record."""
        try:
            recording.record(context, turns)
        except UsageError:
            raise
        except Exception as error:
            # Fault: a vault that is read-only for a moment must cost neither the words nor
            # the answer.
            self.keep()
            self.log_error(error)
        self.keep = lambda: None

    def learn_at_once(self, memory: "VaultMemory") -> None:
        """Write what conversations plainly ask for, so that the next block has it."""
        # Most vaults are opened without any conversation: nothing more is loaded for them.
        if self.has_learned or not (memory.vault.state.path / SESSIONS).exists():
            return
        try:
            if memory.conversations.sessions.unjudged():
                memory.learning.commit_at_once()
        except Exception as error:
            # Fault: what is learned later must not cost the memory of now.
            self.log_error(error)

    def learn_rest(self, memory: "VaultMemory") -> None:
        """Learn from the conversations that are over; nobody waits for it."""
        memory.conversations.end_idle_sessions()
        # A model is asked by the daemon, or at night.
        with suppress(checkpoint.NightRuns):
            memory.learning.learn_from_ended(by_phrases=True)


def run(
    arguments: Sequence[str],
    *,
    seconds: float = HOOK_SECONDS,
    payload: bytes | None = None,
    moment: float | None = None,
    patience: float = DAEMON_SECONDS,
) -> int:
    """Answer one event; the exit code, which is always 0.

    `payload` is standard input, where it was read already, and `moment` the time of the event. A
    daemon has `patience` seconds for its answer, which is 0 where it gave none to this event.
    """
    call = _HookCall(os.environ, moment)
    call.payload, call.patience = payload, patience
    call.end_after(seconds)
    try:
        _write(_answer(call, arguments))
    except BaseException as error:
        call.log_error(error)
    if call.timer is not None:
        call.timer.cancel()
    if call.is_detached:
        # Fault: the caller would go on in both processes.
        os._exit(0)
    return 0


def serve(memory: "VaultMemory", arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer an event in a process that has the vault open. Raises VaultMemoryError."""
    call = _HookCall({}, float(arguments["moment"][0]))
    call.state = memory.vault.state.path
    host = _parse_arguments(call, arguments["arguments"])
    event = read_event(host, arguments["payload"].encode("utf-8"))
    call.event_name = event.name
    caller = call.caller()
    if event.is_silent:
        return {"text": ""}
    if arguments["automated"]:
        event = event._replace(is_automated=True)
    text = _carry_out(call, memory, host, event, caller)
    if event.kind in ("answer", "turn"):
        call.learn_rest(memory)
    return {"text": text}


def _answer(call: _HookCall, arguments: Sequence[str]) -> str:
    host = _parse_arguments(call, arguments)
    if call.payload is None:
        # Fault: a host may send without end. One byte more than the limit shows that.
        call.payload = sys.stdin.buffer.read(LARGEST_PAYLOAD + 1)
    event = read_event(host, call.payload)
    call.event_name = event.name
    caller = call.caller()
    if event.is_silent:
        return ""
    if event.kind in REPORTS and not _detach(call):
        return ""
    is_learner = event.kind == "start" and _learns_beside(call)
    if call.environment.get(AUTOMATED, "").strip().casefold() not in NO:
        event = event._replace(is_automated=True)
    try:
        opened = _open(call)
    except VaultMemoryError:
        _keep_for_later(call, host, event, caller)
        raise
    with opened as memory:
        call.state = memory.vault.state.path
        if is_learner:
            call.learn_at_once(memory)
            return ""
        text = _carry_out(call, memory, host, event, caller)
        if call.is_detached:
            call.learn_rest(memory)
        return text


def _detach(call: _HookCall) -> bool:
    """Go on in a process of its own; return whether this is that process.

    The hook waits for it a little: a container may end with its host, and all of its processes.
    """
    assert call.timer is not None
    # Fault: a lock that another thread holds would stay locked in the new process.
    call.timer.cancel()
    call.timer.join()
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        # No process is left: the event is carried out here.
        os.close(reader)
        os.close(writer)
        pid = 0
        call.end_after(WAIT_SECONDS)
    else:
        if pid == 0:
            # Fault: the end of the host's terminal, or a read of its pipes, would end this process.
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            call.is_detached = True
            call.end_after(DETACHED_SECONDS)
    if pid:
        # The other end closes with the process.
        os.close(writer)
        select.select([reader], [], [], WAIT_SECONDS)
        os.close(reader)
    return pid == 0


def _learns_beside(call: _HookCall) -> bool:
    """Go on in a process of its own that only learns; return whether this is that process.

    The hook waits for it a little. A long turn, or a lock that another process holds, costs a
    conversation neither its memory nor its time.
    """
    state = _state_of_vault(call)
    if state is None or not (state.path / SESSIONS).exists():
        return False
    if not sessions.Sessions(state.path).unjudged():
        return False
    call.has_learned = not _detach(call)
    if not call.is_detached:
        call.end_after(HOOK_SECONDS - WAIT_SECONDS)
    return call.is_detached


def _open(call: _HookCall) -> "VaultMemory":
    options, environment = call.options, call.environment
    vault, config = options.last("vault") or None, options.last("config") or None
    try:
        return vault_memory.VaultMemory.open(vault, config)
    except state_dir.StateFolderUnusable as error:
        root = locate.locate(vault, environment, start=Path.cwd())
        # Fault (C57): without its state folder nobody knows whether an empty folder is a vault.
        if marker.read_marker(root) is None:
            raise
        call.log_error(error)
    states = str(state_dir.temporary_root(environment))
    return vault_memory.VaultMemory.open(
        vault, config, environment={**environment, "VAULT_MEMORY_STATE": states}
    )


def _state_of_vault(call: _HookCall) -> "StateFolder | None":
    """Return the state folder of a vault that was opened before, and may be away now."""
    vault = call.options.last("vault") or call.environment.get("VAULT_MEMORY_VAULT")
    if not vault:
        return None
    return state_dir.state_at(Path(vault).expanduser(), call.environment)


def _keep_for_later(call: _HookCall, host: Host, event: Event, caller: "Caller") -> None:
    """Keep what the event says while its vault cannot be opened, in the vault's drop folder."""
    state = _state_of_vault(call)
    if state is None:
        return
    call.state = state.path
    own = _caller_in_project(call, state.path, host, event, caller)
    if own is not None:
        turns = recording.turns_of(event, own, call.time(), None)
        recording.keep(state.path, host.name, event, own, turns)


def _carry_out(
    call: _HookCall, memory: "VaultMemory", host: Host, event: Event, caller: "Caller"
) -> str:
    own = _caller_in_project(call, memory.vault.state.path, host, event, caller)
    if own is None:
        return ""
    context = hook_events.EventContext(memory, host, event, own, call.time(), call.patience)
    if hook_events.is_of_nobody(context):
        return hook_events.refusal(context)
    if host.exchanges and event.kind in EXCHANGING:
        context = context._replace(news=_exchange(call, context))
    if event.kind == "start":
        call.learn_at_once(memory)
        return hook_events.answer(context)
    with _one_at_a_time(memory.vault.state.path, event):
        turns = call.read_words(context)
        try:
            # Fault: the answer comes before the record. A search would find the prompt
            # itself.
            text = hook_events.answer(context)
        finally:
            call.record(context, turns)
    if event.kind in ("answer", "turn"):
        call.learn_at_once(memory)
    return text


def _exchange(call: _HookCall, context: "EventContext") -> str:
    """Exchange the notes that the host writes by itself; return lines that are new to it."""
    state = context.memory.vault.state.path
    # Most people have adopted nothing: nothing more is loaded for them.
    if not (state / ADOPTED / f"{context.host.name}.json").exists():
        return ""
    exchange = None
    try:
        with state_file.lock(state / RECORD_LOCK, patience=LOCK_SECONDS):
            # Fault: another hook may have exchanged notes while this one waited.
            record = adopted.Adopted(state, context.host.name)
            exchange = note_exchange.Exchange(context.memory, record, context.now)
            exchange.run(context.caller)
    except Exception as error:
        # Fault: what is exchanged later must not cost the memory of now.
        call.log_error(error)
    if exchange is None:
        return ""
    for reason in exchange.failures:
        call.log_failure(reason)
    return exchange.news()


@contextmanager
def _one_at_a_time(state: Path, event: Event) -> Iterator[None]:
    """Keep other hooks waiting while this one records words, for a moment at most."""
    with ExitStack() as stack:
        # Fault: a host runs the hooks of two entries at once, and each would record the turn. The
        # end of a conversation takes long, and keeps nobody waiting.
        if event.kind in ("prompt", "answer", "turn"):
            with suppress(OSError, state_file.LockTaken):
                stack.enter_context(state_file.lock(state / RECORD_LOCK, patience=LOCK_SECONDS))
        yield


def _caller_in_project(
    call: _HookCall, state: Path, host: Host, event: Event, caller: "Caller"
) -> "Caller | None":
    """Return the caller in the project where the host works; None where the hook is silent."""
    # Most people have no projects: nothing more is loaded for them.
    if event.folder and (state / REGISTER).exists():
        project = projects.Projects(state).of(event.folder)
        if project and host.name in project.hosts:
            # What is said beside the code belongs to the project. The person works there alone.
            return caller._replace(
                channel=project.name, groups=(*caller.groups, project.name), private=True
            )
    return None if "projects" in call.options.options else caller


def _parse_arguments(call: _HookCall, arguments: Sequence[str]) -> Host:
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


def _give_up(call: _HookCall, seconds: float) -> None:
    """End the process, wherever the main thread is."""

    # Every file that the main thread writes survives an end at any moment.

    def keep_and_log() -> None:
        call.log_failure(
            f"no answer within {round(seconds, 1):g} seconds; `vault-memory index`"
            " reads a new vault, `vault-memory doctor` looks for more"
        )
        call.keep()

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
