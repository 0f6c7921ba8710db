"""class AsyncVaultMemory: the calls of `VaultMemory` for asyncio, each in a thread."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.sections import Config
from vault_memory.errors import UsageError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

THREADS = 4
"""Calls of one vault that run at once; others wait"""


class AsyncPart:
    """The calls of one concept, such as `facts`, as coroutines of the same names."""

    def __init__(self, memory: "AsyncVaultMemory", name: str) -> None:
        self._memory = memory
        self._name = name

    async def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the part itself, as in `await memory.facts(scopes=[...])`."""
        return await self._memory.run(
            lambda vault: getattr(vault, self._name)(*arguments, **keywords)
        )

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*arguments: Any, **keywords: Any) -> Any:
            return await self._memory.run(
                lambda vault: getattr(getattr(vault, self._name), name)(*arguments, **keywords)
            )

        return call


def _in_thread(
    call: Callable[Concatenate[VaultMemory, Arguments], Answer],
) -> Callable[Concatenate["AsyncVaultMemory", Arguments], Awaitable[Answer]]:
    """Return a coroutine function that makes a call in a thread."""

    @wraps(call)
    async def run(
        self: "AsyncVaultMemory", *arguments: Arguments.args, **keywords: Arguments.kwargs
    ) -> Answer:
        return await self.run(lambda vault: call(vault, *arguments, **keywords))

    # The checker sees `self` as a keyword of the one, and not of the other.
    return run  # type: ignore[return-value]


class AsyncVaultMemory:
    """One vault for asyncio. Each call runs in a thread, so that the loop does not wait for it.

    `async with AsyncVaultMemory.open(path) as memory` opens and closes it. A call that is
    cancelled before it starts is not made; one that has started comes to its end.
    """

    facts: AsyncPart
    source: AsyncPart
    edits: AsyncPart
    conflicts: AsyncPart
    sync: AsyncPart
    conversations: AsyncPart
    searcher: AsyncPart
    learning: AsyncPart
    forgetting: AsyncPart
    transfer: AsyncPart

    def __init__(self, vault: VaultMemory, threads: ThreadPoolExecutor) -> None:
        """Use `AsyncVaultMemory.open` instead."""
        self.vault = vault
        self.root = vault.root
        self.layout = vault.layout
        for name in AsyncVaultMemory.__annotations__:
            setattr(self, name, AsyncPart(self, name))
        self._threads = threads
        self._closing: asyncio.Future[None] | None = None

    @staticmethod
    def open(
        path: str | Path | None = None,
        config: str | Path | Config | None = None,
        *,
        marks: bool = True,
    ) -> "Opening":
        """Open a vault: `await` the answer, or use it in `async with`.

        The arguments are those of `VaultMemory.open`.
        """
        return Opening(partial(VaultMemory.open, path, config, marks=marks))

    async def run(self, call: Callable[[VaultMemory], Answer]) -> Answer:
        """Make any call in a thread, as in `await memory.run(lambda vault: vault.scopes())`."""
        if self._closing is not None:
            # Fault: the pool of threads is closed, and its error names no vault.
            self.vault.vault.check_open()
            raise UsageError(
                "the vault is being closed",
                hint="make calls before `close()`, or open the vault again",
            )
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, call, self.vault)

    async def close(self) -> None:
        """Wait for the calls that have started, and close files and connections."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().run_in_executor(None, self._close)
        # Fault: a second cancellation would leave files open.
        await asyncio.shield(self._closing)

    def _close(self) -> None:
        self._threads.shutdown(wait=True)
        self.vault.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self.vault)[1:]}"

    status = _in_thread(VaultMemory.status)
    doctor = _in_thread(VaultMemory.doctor)
    index = _in_thread(VaultMemory.index)
    refresh = _in_thread(VaultMemory.refresh)
    search = _in_thread(VaultMemory.search)
    warm = _in_thread(VaultMemory.warm)
    scopes = _in_thread(VaultMemory.scopes)
    notes = _in_thread(VaultMemory.notes)
    read = _in_thread(VaultMemory.read)
    context = _in_thread(VaultMemory.context)
    record_turn = _in_thread(VaultMemory.record_turn)
    end_session = _in_thread(VaultMemory.end_session)
    apply = _in_thread(VaultMemory.apply)
    undo = _in_thread(VaultMemory.undo)
    log = _in_thread(VaultMemory.log)
    history = _in_thread(VaultMemory.history)
    restore = _in_thread(VaultMemory.restore)
    inbox = _in_thread(VaultMemory.inbox)
    approve = _in_thread(VaultMemory.approve)
    reject = _in_thread(VaultMemory.reject)
    timeline = _in_thread(VaultMemory.timeline)
    add_fact = _in_thread(VaultMemory.add_fact)
    correct_fact = _in_thread(VaultMemory.correct_fact)
    remember = _in_thread(VaultMemory.remember)
    sleep = _in_thread(VaultMemory.sleep)
    forget = _in_thread(VaultMemory.forget)


class Opening:
    """A vault that is about to be opened: `await` it, or use it in `async with`."""

    def __init__(self, open_vault: Callable[[], VaultMemory]) -> None:
        self._open_vault = open_vault
        self._memory: AsyncVaultMemory | None = None

    def __await__(self) -> Generator[Any, None, AsyncVaultMemory]:
        return self._open().__await__()

    async def _open(self) -> AsyncVaultMemory:
        threads = ThreadPoolExecutor(THREADS, thread_name_prefix="vault-memory")
        opening = asyncio.get_running_loop().run_in_executor(threads, self._open_vault)
        try:
            vault = await asyncio.shield(opening)
        except BaseException:
            # Fault: a cancelled opening would leave the files of the vault open.
            opening.add_done_callback(_close_unused)
            threads.shutdown(wait=False)
            raise
        return AsyncVaultMemory(vault, threads)

    async def __aenter__(self) -> AsyncVaultMemory:
        self._memory = await self._open()
        return self._memory

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._memory is not None
        await self._memory.close()


def _close_unused(opening: "asyncio.Future[VaultMemory]") -> None:
    """Close a vault that was opened although its caller no longer waits."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
