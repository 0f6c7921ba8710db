"""A host keeps the vaults open that are in use, and closes the others without loss."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from tests.service.many import NOTE, WORDS, Vaults
from tests.service.running_host import until
from vault_memory.api import query_or_local
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.api.vault_service import VAULT, VaultUnknown
from vault_memory.config.sections import Config
from vault_memory.config.server_sections import HostSettings
from vault_memory.errors import VaultMemoryError
from vault_memory.service.background_turns import night_delay
from vault_memory.service.hosted_vault import HostedVault
from vault_memory.service.turn_lane import NEVER, TurnJob
from vault_memory.service.vault_host import TOKENS_SECONDS, VaultHost


@contextmanager
def hosting(vaults: Vaults, **settings: float) -> Iterator[VaultHost]:
    config = Config(host=HostSettings()._replace(**settings))
    host = VaultHost(vaults.path, vaults.environment, config)
    with host.running():
        yield host


def open_names(host: VaultHost) -> set[str]:
    return {vault.entry.name for vault in host.open_vaults()}


async def search(host: VaultHost, vault: str, query: str) -> list[str]:
    async with host.vault({VAULT: vault}) as memory:
        answer = await asyncio.to_thread(
            query_or_local.search, memory, query, scopes=["user:mira"], options={}
        )
    return [hit["text"] for hit in answer["hits"]]


@pytest.mark.sampled
def test_a_vault_is_opened_once_for_many_requests(vaults: Vaults) -> None:
    vaults.add_three()
    north = vaults.vault_of("north")

    async def ask(host: VaultHost) -> list[list[str]]:
        return await asyncio.gather(*(search(host, north, "ferry") for _ in range(12)))

    with hosting(vaults) as host:
        answers = asyncio.run(ask(host))
        assert answers == [["- The ferry carries the albatross"]] * 12
        vault = host.find(north)
        assert vault is not None
        assert vault.opened == 1
        assert vault.users == 0


def test_only_unused_vaults_are_closed_for_others(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, most_open=1) as host, ExitStack() as ends:
        north = vaults.vault_of("north")
        loop = ends.enter_context(asyncio.Runner())
        in_use = AsyncExitStack()
        loop.run(in_use.enter_async_context(host.vault({VAULT: north})))
        for name in ("south", "west"):
            assert loop.run(search(host, vaults.vault_of(name), "ferry"))
        assert until(lambda: len(open_names(host)) <= 2)
        assert "north" in open_names(host)
        loop.run(in_use.aclose())
        assert loop.run(search(host, vaults.vault_of("south"), "ferry"))
        assert until(lambda: len(open_names(host)) <= 1)


def test_a_save_in_a_closed_vault_opens_it(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, idle_seconds=0.2) as host:
        vault = host.find(vaults.vault_of("north"))
        assert vault is not None
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        note = vaults.path / "north" / NOTE
        note.write_text(f"{note.read_text()}- The puffin sleeps\n")
        assert until(lambda: vault.opened == 2)
        assert until(lambda: not vault.is_open)


def was_opened(vault: HostedVault, times: int) -> bool:
    return vault.opened >= times and not vault.is_open


def test_a_save_after_an_opening_without_a_change_is_kept_as_a_version(vaults: Vaults) -> None:
    vaults.add_three()
    north = vaults.vault_of("north")
    note = vaults.path / "north" / NOTE
    texts = [f"{note.read_text()}- Save {number}\n" for number in range(2)]
    with hosting(vaults, idle_seconds=0.2) as host:
        vault = host.find(north)
        assert vault is not None
        for number, text in enumerate(texts):
            assert until(lambda: vault.opened and not vault.is_open)
            assert asyncio.run(search(host, north, "ferry"))
            assert until(lambda: not vault.is_open)
            note.write_text(text)
            assert until(partial(was_opened, vault, 2 * number + 3))
    with VaultMemory.open(note.parents[3], environment=vaults.environment) as memory:
        stored = [
            memory.edits.read_version(NOTE, version.revision).text
            for version in memory.history(NOTE)
        ]
    assert set(texts) <= set(stored)


def cached_bytes(folder: Path) -> int | None:
    """The bytes of pages that SQLite has in memory for the databases below a folder.

    None while a thread uses or closes one of them.
    """
    count = 0
    try:
        for connection in apsw.connections():
            if Path(connection.filename).is_relative_to(folder):
                count += connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0]
    except (apsw.ThreadingViolationError, apsw.ConnectionClosedError):
        return None
    return count


def is_cached_by_search(host: VaultHost, vault: str, index: Path) -> bool:
    """Searches for something new, and says whether the pages are still in memory."""
    asyncio.run(search(host, vault, f"ferry {time.monotonic_ns()}"))
    return (cached_bytes(index) or 0) > 100_000


def test_an_open_vault_gives_memory_back_and_answers_the_same_afterwards(vaults: Vaults) -> None:
    vaults.add_three()
    north = vaults.vault_of("north")
    index = vaults.config_file("north").parent / "index"
    with hosting(vaults) as host:
        vault = host.find(north)
        assert vault is not None
        before = asyncio.run(search(host, north, "ferry"))
        assert until(partial(is_cached_by_search, host, north, index))
        assert until(lambda: (cached_bytes(index) or 100_000) < 50_000)
        assert asyncio.run(search(host, north, "ferry")) == before
        assert vault.opened == 1


def test_a_request_comes_before_the_visits_that_are_due(vaults: Vaults) -> None:
    vaults.add_three()
    visits = []

    def visit() -> float:
        time.sleep(0.01)
        visits.append(None)
        return NEVER

    with hosting(vaults, idle_seconds=0.2) as host:
        vault = host.find(vaults.vault_of("north"))
        assert vault is not None
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        # As after a loss of the events of a thousand vaults.
        for _ in range(400):
            host.lanes.upkeep.plan(TurnJob(visit))
        opening = vault.begin_use()
        assert opening.result(120) is None
        vault.end_use()
        assert len(visits) < 200


def test_an_unknown_vault_is_refused(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults) as host, pytest.raises(VaultUnknown):
        asyncio.run(search(host, "0" * 32, "ferry"))


def test_a_vault_that_cannot_be_opened_is_tried_again_ever_more_seldom(vaults: Vaults) -> None:
    vaults.add_three()
    north = vaults.vault_of("north")
    state = vaults.config_file("north").parent
    (state / "index").write_text("no folder")
    with hosting(vaults) as host:
        vault = host.find(north)
        assert vault is not None
        with pytest.raises((VaultMemoryError, OSError)):
            asyncio.run(search(host, north, "ferry"))
        assert vault.failure.reason
        assert vault.failure.tries >= 1
        assert asyncio.run(search(host, vaults.vault_of("south"), "ferry"))
        (state / "index").unlink()
        assert until(lambda: not vault.failure.reason)
        assert asyncio.run(search(host, north, "ferry"))


def test_the_nights_of_many_vaults_are_spread_over_an_hour() -> None:
    offsets = sorted(night_delay(f"{number:032x}").total_seconds() for number in range(1000))
    assert 0 <= offsets[0] < 60
    assert 3540 < offsets[-1] < 3600
    gaps = [later - earlier for earlier, later in pairwise(offsets)]
    assert max(gaps) < 60


def test_a_new_configuration_counts_without_a_new_start(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults) as host:
        north = vaults.vault_of("north")
        assert asyncio.run(search(host, north, "ferry"))
        vault = host.find(north)
        assert vault is not None
        vaults.set_token("north", more="[recall]\nmemory_budget = 3\n")
        assert until(
            lambda: (
                asyncio.run(search(host, north, "ferry")) != []
                and vault.open_vault is not None
                and vault.open_vault.memory.vault.config.recall.memory_budget == 3
            )
        )


def test_each_vault_is_visited_after_the_start(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, idle_seconds=0.2) as host:
        assert until(lambda: all(vault.opened for vault in host.vaults()))
        assert len(host.vaults()) == len(WORDS)


def test_a_vault_that_was_asked_stays_closed_afterwards(vaults: Vaults) -> None:
    vaults.add_three()
    with hosting(vaults, idle_seconds=0.2) as host:
        north = vaults.vault_of("north")
        vault = host.find(north)
        assert vault is not None
        assert until(lambda: vault.opened == 1 and not vault.is_open)
        assert asyncio.run(search(host, north, "ferry"))
        assert until(lambda: vault.opened == 2 and not vault.is_open)
        time.sleep(3)
        assert vault.opened == 2
        assert vault.due_at > time.monotonic() + 60


def test_requests_with_wrong_tokens_leave_the_threads_to_the_calls(vaults: Vaults) -> None:
    vaults.add_three()

    async def threads_for_wrong_tokens(host: VaultHost) -> int:
        digests = [bytes([number]) * 32 for number in range(100)]
        await asyncio.sleep(TOKENS_SECONDS)
        owners = await asyncio.gather(*map(host.owner, digests))
        assert not any(owners)
        names = [thread.name for thread in threading.enumerate()]
        return sum("AnyIO worker" in name for name in names)

    with hosting(vaults) as host:
        assert asyncio.run(threads_for_wrong_tokens(host)) <= 1


def test_looks_at_very_many_vaults_are_rare(vaults: Vaults) -> None:
    vaults.add("north")
    host = VaultHost(vaults.path, vaults.environment, Config())
    host.renew()
    # As after a look that took no time.
    host.catalog.look_seconds = 0.0
    assert not host.catalog.is_recent(0.0)
    # As after a look at 100,000 vaults.
    host.catalog.look_seconds = 1.0
    assert host.catalog.is_recent(0.0)
    host.watcher.stop()
