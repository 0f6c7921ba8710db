"""The daemon hears of what is dropped, and goes back to looking where it cannot hear."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.outside import until
from vault_memory.service.upkeep.conversation_upkeep import DropEvents


@pytest.fixture
def woken() -> threading.Event:
    return threading.Event()


@pytest.fixture
def drops(tmp_path: Path, woken: threading.Event) -> Iterator[DropEvents]:
    folder = tmp_path / "drop"
    folder.mkdir()
    events = DropEvents(folder, woken.set)
    events.start()
    yield events
    events.stop()


def test_a_dropped_turn_wakes_the_daemon(tmp_path: Path, drops: DropEvents, woken: threading.Event):
    assert drops.has_events
    (tmp_path / "drop/bot.jsonl").write_text("{}\n")
    assert woken.wait(120)
    assert drops.has_news


def test_a_recreated_drop_folder_is_polled_without_events(tmp_path: Path, drops: DropEvents):
    shutil.rmtree(tmp_path / "drop")
    (tmp_path / "drop").mkdir()
    until(lambda: not drops.has_events)


def test_after_a_lost_event_the_drop_folder_is_polled(drops: DropEvents):
    drops.lose("more happened at once than the system could tell")
    assert drops.has_news
    assert not drops.has_events
