"""`hook`: a host runs it at each turn. Whatever happens, it ends with 0, in time, and with an answer or with nothing.

A host takes other exit codes for orders: one of them makes it throw the person's prompt away.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.hosts.payload import HOSTS, LARGEST, read
from vault_memory.hosts.trouble import tell

if TYPE_CHECKING:
    from datetime import datetime

SECONDS = 5.0
END_SECONDS = 2.5
"""At the end of a conversation hosts wait for three seconds or less"""
LAST_WORDS_SECONDS = 2.0
"""Then, at most, to keep what is not recorded yet and to say why there is no answer"""
VALUES = ("vault", "config", "user", "channel", "group", "now")
FLAGS = ("json", "quiet", "verbose", "private")
AUTOMATED = "VAULT_MEMORY_AUTOMATED"
"""Set by a job that runs a host: what the host then sends as a prompt no person typed"""
NO = ("", "0", "false", "no", "off")


class _Call:
    """What is known so far of this one call, for whoever has to say why it failed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.host = self.event = ""
        self.state: Path | None = None
        self.options: dict[str, list[str]] = {}
        self.private = False
        self.unsaid: Callable[[], None] = lambda: None
        """keeps what is not recorded yet"""

    def last(self, name: str) -> str:
        return (self.options.get(name) or [""])[-1]


def run(arguments: Sequence[str], *, seconds: float = SECONDS) -> int:
    """Answer one event; the exit code, which is always 0."""
    call = _Call(os.environ)
    watch = threading.Timer(seconds, _give_up, [call, seconds])
    watch.daemon = True
    watch.start()
    try:
        _write(_answer(call, arguments))
    except VaultMemoryError as error:
        tell(call.state, call.environment, call.host, call.event, f"{error.code}: {error.message}")
    except BaseException as error:
        tell(call.state, call.environment, call.host, call.event, f"{type(error).__name__} {_place(error)}")
    watch.cancel()
    return 0


def _answer(call: _Call, arguments: Sequence[str]) -> str:
    _understand(call, arguments)
    event = read(sys.stdin.buffer.read(LARGEST + 1))
    call.event = event.name
    if event.kind == "end":
        limit = threading.Timer(END_SECONDS, _give_up, [call, END_SECONDS])
        limit.daemon = True
        limit.start()
    from vault_memory.app import VaultMemory
    from vault_memory.app.callers import Caller
    from vault_memory.hosts.answering import Said, answer, drop, record

    caller = Caller(call.last("user"), call.last("channel"), tuple(call.options.get("group", ())), call.private)
    if call.environment.get(AUTOMATED, "").strip().casefold() not in NO:
        event = event._replace(automated=True)
    if event.silent:
        return ""
    with VaultMemory.open(call.last("vault") or None, call.last("config") or None) as memory:
        call.state = memory.state.path
        this = (memory, call.host, event, caller)
        now = _now(call.last("now"))
        if event.kind == "prompt":
            call.unsaid = lambda: drop(*this, [Said("", now.isoformat() if now else "", "user", event.prompt)])
        try:
            return answer(*this, now)  # first: what is recorded would be among what is looked through
        finally:
            call.unsaid = lambda: None
            record(*this, now)


def _understand(call: _Call, arguments: Sequence[str]) -> None:
    """The host and the options, without the click that all other commands take: it would cost as much as the rest."""
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in VALUES:
            if not equals and not words:
                raise UsageError(f"`{word}` needs a value")
            call.options.setdefault(name, []).append(value if equals else words.pop(0))
        elif word.startswith("-") and name not in FLAGS:
            raise UsageError(f"`hook` knows no option `{word}`")
        elif word == "--private":
            call.private = True
        elif not word.startswith("-"):
            if call.host:
                raise UsageError(f"`hook` takes one host, and not `{word}` too")
            call.host = word
    if call.host not in HOSTS:
        raise UsageError(f"`{call.host}` calls no hooks", hint=f"known are {', '.join(HOSTS)}")


def _now(said: str) -> "datetime | None":
    if not said:
        return None
    from datetime import datetime

    try:
        now = datetime.fromisoformat(said)
    except ValueError:
        raise UsageError(f"`--now {said}` is no time") from None
    return now if now.tzinfo else now.astimezone()


def _give_up(call: _Call, seconds: float) -> None:
    """The time is up, wherever the other thread is: what it writes to files is made to be cut off anywhere."""
    hint = "`vault-memory index` reads a new vault, `vault-memory doctor` looks for more"

    def last_words() -> None:
        tell(call.state, call.environment, call.host, call.event, f"no answer within {seconds:g} seconds; {hint}")
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
