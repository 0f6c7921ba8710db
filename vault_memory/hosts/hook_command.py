"""`hook`: a host runs it at each turn. Whatever happens, it ends with 0, in time, and with an answer or with nothing.

A host takes other exit codes for orders: one of them makes it throw the person's prompt away.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
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
from vault_memory.hosts.error_log import tell
from vault_memory.hosts.hook_payload import HOSTS, Event, read
from vault_memory.lazy import lazy_module

if TYPE_CHECKING:
    from datetime import datetime

    from vault_memory.api import vault_memory
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.hosts import hook_events
    from vault_memory.rules.paths import caller as paths_caller
    from vault_memory.rules.paths.caller import Caller
else:
    vault_memory = lazy_module("vault_memory.api.vault_memory")
    hook_events = lazy_module("vault_memory.hosts.hook_events")
    paths_caller = lazy_module("vault_memory.rules.paths.caller")

LAST_WORDS_SECONDS = 2.0
"""Then, at most, to keep what is not recorded yet and to say why there is no answer"""
ANSWER_SECONDS = 2.0
"""After which a daemon assumes that nobody waits for its answer any more"""
AUTOMATED = "VAULT_MEMORY_AUTOMATED"
"""Set by a job that runs a host: what the host then sends as a prompt no person typed"""
Moment = tuple[float, int]
"""Seconds since 1970, and 30 bits of chance: together they are the id of what an event says"""
NO = ("", "0", "false", "no", "off")


class _Call:
    """What is known so far of this one call, for whoever has to say why it failed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.host = self.event = ""
        self.state: Path | None = None
        self.options = Arguments((), {})
        self.payload: bytes | None = None
        self.moment: Moment | None = None
        self.again = False
        """whether another process may have recorded the event"""
        self.unsaid: Callable[[], None] = lambda: None
        """keeps what is not recorded yet"""


def run(
    arguments: Sequence[str],
    *,
    seconds: float = HOOK_SECONDS,
    payload: bytes | None = None,
    moment: "Moment | None" = None,
) -> int:
    """Answer one event; the exit code, which is always 0.

    `payload` is what came on standard input, where somebody has read it already. `moment` is that of an attempt which
    may have recorded the event: it is not recorded again.
    """
    call = _Call(os.environ)
    call.payload, call.moment, call.again = payload, moment, moment is not None
    watch = threading.Timer(seconds, _give_up, [call, seconds])
    watch.daemon = True
    watch.start()
    try:
        _write(_answer(call, arguments))
    except VaultMemoryError as error:
        tell(
            call.state,
            call.environment,
            call.host,
            call.event,
            f"{error.code}: {error.message}",
        )
    except BaseException as error:
        tell(
            call.state,
            call.environment,
            call.host,
            call.event,
            f"{type(error).__name__} {_place(error)}",
        )
    watch.cancel()
    return 0


def _answer(call: _Call, arguments: Sequence[str]) -> str:
    _understand(call, arguments)
    event = read(
        sys.stdin.buffer.read(LARGEST_PAYLOAD + 1)
        if call.payload is None
        else call.payload
    )
    call.event = event.name
    if event.kind == "end":
        limit = threading.Timer(END_SECONDS, _give_up, [call, END_SECONDS])
        limit.daemon = True
        limit.start()
    caller = _caller(call)
    if call.environment.get(AUTOMATED, "").strip().casefold() not in NO:
        event = event._replace(automated=True)
    if event.silent:
        return ""
    with vault_memory.VaultMemory.open(
        call.options.last("vault") or None, call.options.last("config") or None
    ) as memory:
        call.state = memory.vault.state.path
        return _carry_out(call, memory, event, caller)


def serve(memory: "VaultMemory", arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer an event in a process that has the vault open. Raises VaultMemoryError."""
    call = _Call({})
    _understand(call, arguments["arguments"])
    seconds, chance = arguments["moment"]
    call.moment = (float(seconds), int(chance))
    # after a while the host's own process has given up waiting, and has recorded the event itself
    call.again = time.time() - call.moment[0] > ANSWER_SECONDS
    event = read(arguments["payload"].encode("utf-8"))
    caller = _caller(call)
    if arguments["automated"]:
        event = event._replace(automated=True)
    return {"text": "" if event.silent else _carry_out(call, memory, event, caller)}


def _caller(call: _Call) -> "Caller":
    options = call.options
    private = "private" in options.options
    return paths_caller.Caller(
        options.last("user"), options.last("channel"), options.all("group"), private
    )


def _carry_out(
    call: _Call, memory: "VaultMemory", event: Event, caller: "Caller"
) -> str:
    this = (memory, call.host, event, caller)
    now, chance = _now(call.options.last("now")), None
    if call.moment is not None:
        now, chance = now or _clock(call.moment[0]), call.moment[1]
    if event.kind == "prompt":
        call.unsaid = lambda: hook_events.drop(
            *this,
            [
                hook_events.Said(
                    "", now.isoformat() if now else "", "user", event.prompt
                )
            ],
        )
    try:
        return hook_events.answer(
            *this, now
        )  # first: what is recorded would be among what is looked through
    finally:
        call.unsaid = lambda: None
        hook_events.record(*this, now, chance, again=call.again)


def _understand(call: _Call, arguments: Sequence[str]) -> None:
    """The host and the options, without the click that all other commands take: it would cost as much as the rest."""
    call.host = next(
        (word for word in arguments if word in HOSTS), ""
    )  # for the log, should the rest be wrong
    try:
        call.options = parse(arguments, HOOK_VALUES, HOOK_FLAGS)
    except NotPlain as problem:
        raise UsageError(
            f"{problem}", hint="`vault-memory hook --help` lists the options"
        ) from None
    call.host, *others = call.options.arguments or [""]
    if others:
        raise UsageError(f"`hook` takes one host, and not `{others[0]}` too")
    if call.host not in HOSTS:
        raise UsageError(
            f"`{call.host}` calls no hooks", hint=f"known are {', '.join(HOSTS)}"
        )


def _now(said: str) -> "datetime | None":
    if not said:
        return None
    from datetime import datetime

    try:
        now = datetime.fromisoformat(said)
    except ValueError:
        raise UsageError(f"`--now {said}` is no time") from None
    return now if now.tzinfo else now.astimezone()


def _clock(seconds: float) -> "datetime":
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone()


def _give_up(call: _Call, seconds: float) -> None:
    """The time is up, wherever the other thread is: what it writes to files is made to be cut off anywhere."""
    hint = (
        "`vault-memory index` reads a new vault, `vault-memory doctor` looks for more"
    )

    def last_words() -> None:
        what = f"no answer within {round(seconds, 1):g} seconds; {hint}"
        tell(call.state, call.environment, call.host, call.event, what)
        call.unsaid()

    teller = threading.Thread(target=last_words, daemon=True)
    teller.start()
    teller.join(LAST_WORDS_SECONDS)  # no longer, should the disk be what is slow
    os._exit(0)


def _place(error: BaseException) -> str:
    """Where it came from; what it says could repeat a text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def _write(text: str) -> None:
    raw = text.encode("utf-8")
    while raw:
        raw = raw[os.write(1, raw) :]
