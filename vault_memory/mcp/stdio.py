"""MCP over standard input and output: reads requests, answers them in threads, and ends cleanly.

It starts quickly. A host asks for the tools at once, and does not wait long: a late answer leaves
the first request of the conversation without tools. Calls that need the vault run in threads, so
that the loop reads a cancellation meanwhile.
"""

import os
import queue
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vault_memory.addons import table
from vault_memory.mcp import http_session
from vault_memory.mcp.json_lines import LARGEST, LineWriter, TooLong, read_lines
from vault_memory.mcp.protocol import (
    BUSY,
    INVALID_REQUEST,
    Conversation,
    Id,
    Json,
    error_message,
    id_of,
    read_message,
)

if TYPE_CHECKING:
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.mcp.http_session import Serving
    from vault_memory.rules.paths.scopes import Caller

LISTEN = "subscriptions/listen"
MOST_THREADS = 8
MOST_WAITING = 1000
"""Requests that wait for a thread or run in one. More would fill the memory, and are refused."""
PATIENCE_SECONDS = 2.0
"""How long running calls may take after a signal to stop"""


class Stopped(BaseException):
    """A signal asks the process to end."""


def serve(
    open_vault: "Callable[[], VaultMemory]",
    caller: "Callable[[], Caller]",
    *,
    has_hooks: bool = False,
) -> None:
    """Serves until standard input ends or SIGTERM comes. The first call opens the vault.

    `has_hooks` says that hooks of the host give the model the memory block of each prompt. Prints go to standard error meanwhile: standard output belongs to the protocol.
    """
    vault = _Vault(open_vault, caller)
    conversation = Conversation(vault.serving, has_hooks=has_hooks)
    conversation.notices = {"subscribe": True, "listChanged": True}
    loop = Loop(conversation, LineWriter(_take_stdout()))
    # Ctrl-C ends the process at once: every change to a file survives that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        signal.signal(signal.SIGTERM, _stop)
        loop.run(0)
    except Stopped:
        loop.stop()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    vault.close()


def _take_stdout() -> int:
    """Returns a descriptor for the protocol alone."""
    # Fault: a print, in this process or in a child, would break a message.
    sink = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        # The host gave no standard error.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return sink


def _stop(number: int, frame: object) -> None:
    # Fault: a second signal must not interrupt the end.
    signal.signal(number, signal.SIG_IGN)
    raise Stopped


class _Vault:
    """The vault, opened once for all threads. After a failure the next request tries again."""

    def __init__(
        self, open_vault: "Callable[[], VaultMemory]", caller: "Callable[[], Caller]"
    ) -> None:
        self._open, self._caller = open_vault, caller
        self._lock = threading.Lock()
        self._serving: Serving | None = None

    def serving(self) -> "Serving":
        """Returns the caller with the opened vault. Raises VaultMemoryError."""
        with self._lock:
            if self._serving is None:
                self._serving = http_session.Serving(self._open(), self._caller())
            return self._serving

    def close(self) -> None:
        if self._serving is not None:
            self._serving.memory.close()


class Request:
    """A request that is being answered."""

    def __init__(self, id_: Id, method: str, params: Json, writer: LineWriter) -> None:
        self.id = id_
        self.method = method
        self.params = params
        self.cancelled = False
        self.writer = writer

    def finish(self, outcome: Json) -> None:
        """Sends the answer, whose outcome has `result` or `error`; none if it was cancelled."""
        if not self.cancelled:
            self.writer.write({"jsonrpc": "2.0", "id": self.id, **outcome})


class Loop:
    """Reads messages and answers them, until the input ends."""

    def __init__(self, conversation: Conversation, writer: LineWriter) -> None:
        self._conversation = conversation
        self._writer = writer
        self._lock = threading.Lock()
        self._active: dict[Id, Request] = {}
        """Requests that wait for a thread or run in one"""
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def run(self, source: int) -> None:
        """Answers requests. Returns when the input has ended and each request is answered."""
        for line in read_lines(source):
            self._take(line)
            if self._writer.gone:
                break
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """Drops the waiting requests, and lets running ones end: a change should be complete."""
        with self._lock:
            for request in self._active.values():
                request.cancelled = True
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS / len(self._threads))

    def _take(self, line: bytes | TooLong) -> None:
        """Reads one message; its answer is written now or later."""
        if isinstance(line, TooLong):
            problem = f"a message may have at most {LARGEST:,} bytes"
            self._writer.write(error_message(line.id(), INVALID_REQUEST, problem))
            return
        if not line.strip():
            return
        message, refusal = read_message(line)
        if refusal is not None:
            self._writer.write(refusal)
        if message is None:
            return
        id_, method = id_of(message), message["method"]
        if id_ is None:
            self._notify(method, message.get("params"))
        else:
            self._begin(Request(id_, method, message.get("params") or {}, self._writer))

    def _notify(self, method: str, params: Any) -> None:
        """Notes a cancellation. Other notifications need no action."""
        if method != "notifications/cancelled" or not isinstance(params, dict):
            return
        id_ = id_of(params, "requestId")
        if id_ is None:
            return
        with self._lock:
            request = self._active.get(id_)
            if request is not None:
                request.cancelled = True

    def _begin(self, request: Request) -> None:
        notices = request.method == LISTEN and table.optional_part("dialogue.change_notices")
        if not notices and self._conversation.is_quick(request.method):
            self._answer(request, self._conversation.outcome)
            return
        with self._lock:
            refusal = self._refusal(request)
            if refusal is None:
                self._active[request.id] = request
        if refusal is not None:
            code, message = refusal
            request.finish({"error": {"code": code, "message": message}})
            return
        if notices:
            # A request that waits for changes would keep a thread from calls.
            answer = notices.answer_of(self._conversation, request)
            threading.Thread(target=self._answer, args=(request, answer), daemon=True).start()
            return
        self._waiting.put(request)
        if len(self._threads) < min(MOST_THREADS, len(self._active)):
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Returns why a request gets no thread, as a code and in words; call it with the lock."""
        # Fault: with one id for two requests, a cancellation would be unclear.
        if request.id in self._active:
            return INVALID_REQUEST, "a request with this `id` is still being answered"
        if len(self._active) >= MOST_WAITING:
            return (BUSY, "too many requests wait for an answer; send this one again later")
        return None

    def _work(self) -> None:
        while (request := self._waiting.get()) is not None:
            if request.cancelled:
                self._leave(request)
                request.finish({})
            else:
                self._answer(request, self._conversation.outcome)

    def _answer(self, request: Request, answer: Callable[[str, Json], Json]) -> None:
        outcome = answer(request.method, request.params)
        self._leave(request)
        request.finish(outcome)

    def _leave(self, request: Request) -> None:
        """Frees the id for another request; this one cannot be cancelled any more."""
        with self._lock:
            if self._active.get(request.id) is request:
                del self._active[request.id]
