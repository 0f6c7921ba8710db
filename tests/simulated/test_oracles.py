"""The oracles themselves: they accept what the bot may do, and see what it may not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulated import oracles
from tests.simulated.actors import Save, vim
from tests.simulated.disk import ENGINE, NOTE, Disk
from tests.simulated.engines import DropsTheDisplaced
from tests.simulated.ledger import Ledger, items_in
from tests.simulated.real import Real
from tests.simulated.violation import Violation
from vault_memory.rules.edits.audit_record import RecordedOp

WIDE = b"## Work\n\n-  ann-001 is away on Fridays\n"
LINE = "bot-001 paint skating jazz"
ITEM = f"- {LINE}".encode()


class Interrupted(Disk):
    """A disk on which somebody does something just before the engine exchanges its text for the note."""

    def __init__(self) -> None:
        super().__init__()
        self.before_exchange: Callable[[], object] = lambda: None

    def exchange(self, folder: int, one: str, other: str) -> None:
        step, self.before_exchange = self.before_exchange, lambda: None
        step()
        self.acting = ENGINE
        super().exchange(folder, one, other)


def save(disk: Disk, ledger: Ledger, who: str, loaded: bytes, text: bytes) -> None:
    """A whole save at once."""
    disk.acting = who
    disk.person_saves(NOTE, text)
    ledger.saved(who, loaded, text)


def append(disk: Disk, ledger: Ledger, bot: Real) -> None:
    """An hour later, the bot appends its item to the section `Work`."""
    disk.clock += 3600
    disk.acting = ENGINE
    ledger.asked[ITEM] = "append"
    bot.start()
    bot.ask("00000000000100000000", ({"op": "append", "heading": "Work", "line": LINE},), "tool")


def settle(disk: Disk, bot: Real) -> None:
    """Tend the vault until no displaced file is watched."""
    disk.acting = ENGINE
    for _ in range(5):
        disk.clock += 200
        bot.tend()
    assert not bot.watched()


def test_spaces_after_a_list_marker_do_not_change_an_item() -> None:
    assert items_in(b"## Work\n-  wide\n- narrow\n-\n- \n") == [b"- wide", b"- narrow"]


def test_an_item_appended_with_a_wide_list_marker_matches_its_record(tmp_path: Path) -> None:
    disk, ledger = Disk(), Ledger()
    bot = Real(disk, tmp_path)
    save(disk, ledger, "ann", b"", WIDE)

    append(disk, ledger, bot)

    assert disk.text(NOTE) == WIDE + f"-  {LINE}\n".encode()
    oracles.audit(disk, ledger, bot, alone=True, halves=False)


def test_a_bots_item_that_vanished_from_a_list_with_wide_markers_is_reported_lost(
    tmp_path: Path,
) -> None:
    disk, ledger = Disk(), Ledger()
    bot = Real(disk, tmp_path)
    save(disk, ledger, "ann", b"", WIDE)
    append(disk, ledger, bot)

    disk.person_saves(NOTE, WIDE)

    with pytest.raises(Violation, match=f"O1 no loss: `- {LINE}`, written by the bot, is nowhere"):
        oracles.audit(disk, ledger, bot, alone=True, halves=False)


def test_a_record_of_an_item_that_was_never_in_the_note_is_detected(tmp_path: Path) -> None:
    disk, ledger = Disk(), Ledger()
    bot = Real(disk, tmp_path)
    save(disk, ledger, "ann", b"", WIDE)
    append(disk, ledger, bot)

    (record,) = bot.curator.trail.of(NOTE)
    invented = RecordedOp(
        {"op": "append", "heading": "Work", "line": "bot-002 nobody wrote this"}, "applied"
    )
    bot.curator.trail.add(replace(record, id="00000000000200000000", applied=(invented,)))

    with pytest.raises(
        Violation, match="record 00000000000200000000 says that it wrote b'- bot-002"
    ):
        oracles.audit(disk, ledger, bot, alone=True, halves=False)


def test_lines_in_an_order_that_no_person_saved_are_detected() -> None:
    disk, ledger = Disk(), Ledger()
    save(disk, ledger, "ann", b"", b"- ann-001 tea\n- ann-002 rain\n")

    disk.person_saves(NOTE, b"- ann-002 rain\n- ann-001 tea\n")

    with pytest.raises(Violation, match="O6 human order"):
        oracles.human_order(disk, ledger)


def test_a_line_a_person_deleted_does_not_constrain_the_order() -> None:
    disk, ledger = Disk(), Ledger()
    both = b"- ann-001 tea\n- ann-002 rain\n"
    save(disk, ledger, "ann", b"", both)
    save(disk, ledger, "ann", both, b"- ann-002 rain\n")

    disk.person_saves(NOTE, b"- ann-002 rain\n- ann-001 tea\n")

    oracles.human_order(disk, ledger)


def eve_saves_over_the_text_of_ann(disk: Disk, ledger: Ledger) -> Save:
    """The save with which Ann will write over the line of Eve, which she has not seen."""
    loaded = b"## Work\n\n- ann-001 is away on Fridays\n"
    save(disk, ledger, "ann", b"", loaded)
    save(disk, ledger, "eve", loaded, loaded + b"- eve-001 rain rain rain\n")
    return Save(disk, ledger, "ann", loaded, loaded + b"- ann-002 tea tea tea\n")


def test_a_line_vim_overwrote_unseen_need_only_be_in_the_history(tmp_path: Path) -> None:
    disk, ledger = Interrupted(), Ledger()
    bot = Real(disk, tmp_path)
    vim_of_ann = vim(eve_saves_over_the_text_of_ann(disk, ledger))

    def ann_begins_to_save() -> None:
        disk.acting = "ann"
        next(vim_of_ann)  # the note becomes the backup
        next(vim_of_ann)  # a new, empty file has its name

    disk.before_exchange = ann_begins_to_save
    append(disk, ledger, bot)
    disk.acting = "ann"
    assert list(vim_of_ann), "the bot wrote while Ann was saving"
    settle(disk, bot)

    assert items_in(disk.text(NOTE)) == [
        b"- ann-001 is away on Fridays",
        b"- ann-002 tea tea tea",
        ITEM,
    ]
    assert any(b"eve-001" in version for version in bot.versions())
    oracles.no_loss(disk, ledger, bot)


def test_a_line_vim_overwrote_unseen_that_is_in_no_history_is_reported_lost() -> None:
    disk, ledger = Disk(), Ledger()
    engine = DropsTheDisplaced(disk)
    vim_of_ann = vim(eve_saves_over_the_text_of_ann(disk, ledger))
    there = disk.text(NOTE) or b""

    disk.acting = "ann"
    next(vim_of_ann)
    next(vim_of_ann)
    disk.acting = ENGINE
    disk.person_saves(NOTE, there + ITEM + b"\n")
    disk.acting = "ann"
    list(vim_of_ann)
    disk.acting = ENGINE
    disk.person_saves(
        NOTE, there.replace(b"- eve-001 rain rain rain\n", b"- ann-002 tea tea tea\n")
    )

    with pytest.raises(
        Violation, match="O1 no loss: `- eve-001 rain rain rain`, saved by eve, is nowhere"
    ):
        oracles.no_loss(disk, ledger, engine)
