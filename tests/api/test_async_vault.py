"""`AsyncVaultMemory`: the same calls from asyncio, which never block the loop and close cleanly."""

import asyncio
import inspect
import threading
import time
from pathlib import Path

import pytest

from vault_memory import AsyncVaultMemory, UsageError, VaultMemory, VaultUnreachable

ME = "user:mira"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULT_MEMORY_EMBEDDING_KIND", "off")
    vault = tmp_path / "vault"
    (vault / "Users/mira/memories").mkdir(parents=True)
    (vault / "Users/mira/memories/a.md").write_text("# A\n\n- the lamp is red\n")
    return vault


def test_it_has_every_call_of_the_vault_under_the_same_name():
    calls = {
        name
        for name, member in vars(VaultMemory).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }

    missing = calls - set(vars(AsyncVaultMemory))

    # Both are used from the thread of their model or their server.
    assert missing == {"memory_tool", "as_seen_by"}
    for name in calls - missing:
        ours = inspect.signature(getattr(AsyncVaultMemory, name)).parameters
        assert list(ours) == list(inspect.signature(getattr(VaultMemory, name)).parameters)


def test_a_bot_records_and_searches(folder: Path):
    async def talk() -> list[str]:
        async with AsyncVaultMemory.open(folder) as memory:
            await memory.record_turn(session="s", role="user", user="mira", text="I row")
            answers = await asyncio.gather(
                memory.search("row", scopes=[ME]), memory.search("lamp", scopes=[ME])
            )
            return [answer.hits[0].text for answer in answers]

    turn, note = asyncio.run(talk())
    assert "I row" in turn
    assert "the lamp is red" in note


def test_a_part_has_its_calls(folder: Path):
    async def talk() -> tuple[str, int]:
        async with AsyncVaultMemory.open(folder) as memory:
            await memory.add_fact("ove", "works_at", "the harbour", scope=ME)
            about = await memory.facts.entity("ove", scopes=[ME])
            return about.name, len(await memory.facts(scopes=[ME]))

    assert asyncio.run(talk()) == ("ove", 1)


def test_a_vault_is_opened_with_await_too(folder: Path):
    async def talk() -> int:
        memory = await AsyncVaultMemory.open(folder)
        try:
            return len((await memory.search("lamp", scopes=[ME])).hits)
        finally:
            await memory.close()
            await memory.close()

    assert asyncio.run(talk()) == 1


def test_the_loop_goes_on_during_a_call(folder: Path):
    async def talk() -> int:
        ticks = 0
        async with AsyncVaultMemory.open(folder) as memory:
            slow = asyncio.ensure_future(memory.run(lambda vault: time.sleep(0.3)))
            while not slow.done():
                await asyncio.sleep(0.01)
                ticks += 1
        return ticks

    assert asyncio.run(talk()) >= 3


def test_a_cancelled_call_comes_to_its_end_before_the_vault_closes(folder: Path):
    started, ended = threading.Event(), threading.Event()

    def write(vault: VaultMemory) -> None:
        started.set()
        time.sleep(0.2)
        vault.record_turn(session="s", role="user", user="mira", text="I row to work")
        ended.set()

    async def talk() -> None:
        async with AsyncVaultMemory.open(folder) as memory:
            call = asyncio.ensure_future(memory.run(write))
            await asyncio.to_thread(started.wait)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(talk())

    assert ended.is_set()
    with VaultMemory.open(folder) as memory:
        assert memory.search("row to work", scopes=[ME]).hits


def test_closing_that_is_cancelled_closes_all_the_same(folder: Path):
    async def talk() -> VaultMemory:
        memory = await AsyncVaultMemory.open(folder)
        slow = asyncio.ensure_future(memory.run(lambda vault: time.sleep(0.2)))
        await asyncio.sleep(0.05)
        closing = asyncio.ensure_future(memory.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await slow
        await memory.close()
        return memory.vault

    assert asyncio.run(talk()).vault.is_closed


def test_a_call_after_closing_is_a_usage_error(folder: Path):
    async def talk() -> None:
        memory = await AsyncVaultMemory.open(folder)
        await memory.close()
        await memory.search("lamp", scopes=[ME])

    with pytest.raises(UsageError, match="is closed"):
        asyncio.run(talk())


def test_a_wrong_value_is_a_usage_error(folder: Path):
    async def talk() -> None:
        async with AsyncVaultMemory.open(folder) as memory:
            await memory.search("lamp", scopes="user:mira")

    with pytest.raises(UsageError):
        asyncio.run(talk())


def test_a_missing_vault_is_reported_and_leaves_no_thread(tmp_path: Path):
    async def talk() -> None:
        async with AsyncVaultMemory.open(tmp_path / "none"):
            raise AssertionError

    with pytest.raises(VaultUnreachable):
        asyncio.run(talk())

    deadline = time.monotonic() + 120
    while any("vault-memory" in thread.name for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
