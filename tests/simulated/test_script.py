"""The text of a life tells all that was decided, and an unknown word in it is an error."""

from pathlib import Path

import pytest

from tests.effort import cases
from tests.every import every
from tests.simulated.dice import Line
from tests.simulated.engines import CheckThenRename, LastWriterWins, Make, Naive
from tests.simulated.phrases import AFTER, WHO
from tests.simulated.real import Real
from tests.simulated.script import Life, Parser, pinned_lives, read, recorded, text_of
from tests.simulated.shrinking import outcome, retold
from tests.simulated.world import drawn_life, live

TEXT = """\
# Power is lost while Ann saves
disk: posix
features: log, power, errors
ann: backup, vim; careful
---
 0.5 s  ann     loads
   4 s  ann     adds an item below first-002
 0.5 s  bot     asks for two changes, removes first-003, appends under Home, as tool
                dies at call 27, halfway, power is lost
        before call 12: 0.01 s ann saves with vim
        before call 20: 0 s log opens
   0 s  engine  tends
                meets EIO, at call 3
"""


def real(state: Path) -> Make:
    """The product on a disk."""
    return lambda disk: Real(disk, state)


def test_a_script_is_written_back_exactly_as_it_was_read() -> None:
    assert text_of(Parser("life.txt", TEXT).life()) == TEXT


@every("path", pinned_lives(), ids=lambda path: path.stem)
def test_each_stored_script_is_in_its_canonical_form(path: Path) -> None:
    assert text_of(read(path)) == path.read_text(encoding="utf-8")


@pytest.mark.sampled
@pytest.mark.parametrize("first", range(0, cases(40), 5))
def test_replaying_a_recorded_script_gives_the_same_history(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 5):
        setting, steps = drawn_life(seed)
        lines: list[Line] = []
        drawn = live(setting, recorded(steps, lines), real(tmp_path))

        text = text_of(Life(f"Seed {seed}", setting, tuple(lines)))
        life = Parser("life.txt", text).life()
        replayed = live(life.setting, life.steps, real(tmp_path))

        assert replayed.story == drawn.story
        assert replayed.digest() == drawn.digest()


@pytest.mark.sampled
@pytest.mark.parametrize("path", pinned_lives()[::6], ids=lambda path: path.stem)
def test_a_replay_makes_its_own_decisions_where_the_script_has_none(
    path: Path, tmp_path: Path
) -> None:
    life = read(path)
    for line in life.lines:
        line.decisions[:] = [
            decision for decision in line.decisions if decision.phrase in (AFTER, WHO)
        ]
        line.step_ins.clear()

    live(life.setting, life.steps, real(tmp_path))


@every(
    ("written", "mistaken", "place", "problem"),
    [
        ("# Power", "Power", 1, "is no title"),
        ("disk: posix", "disk: ntfs", 2, "`ntfs` is none of"),
        ("log, power", "log, magnets", 3, "`magnets` is none of"),
        ("backup, vim;", "backup, emacs;", 4, "`emacs` is none of"),
        ("; careful", "; careless", 4, "`careless` is none of"),
        ("ann: backup", "eve: backup", 4, "`eve` is no part of the setting"),
        ("ann     loads", "ann     dreams", 6, "`dreams` is nothing that `ann` does"),
        ("ann     loads", "bob     loads", 6, "there is no `bob` in this life"),
        ("0.5 s  ann", "soon  ann", 6, "is no step"),
        ("below first-002", "below the tree", 7, "is nothing that `ann` does"),
        ("removes first-003", "saves with vim", 8, "is nothing that `bot` does"),
        ("at call 27", "at call many", 9, "`dies at call many` is nothing"),
        ("log opens", "log ticks the first box", 11, "is nothing that `log` does"),
        ("meets EIO", "meets Ann", 13, "`meets Ann` is nothing that `engine` does"),
        ("---\n", "", 5, "names no part of the setting"),
    ],
)
def test_an_error_in_a_script_is_reported_with_file_and_line(
    written: str, mistaken: str, place: int, problem: str
) -> None:
    text = TEXT.replace(written, mistaken, 1)

    with pytest.raises(ValueError, match=f"^life.txt:{place}: .*{problem}"):
        Parser("life.txt", text).life()


@pytest.mark.parametrize("engine", [LastWriterWins, CheckThenRename])
def test_the_script_of_a_failing_seed_fails_in_the_same_way(engine: type[Naive]) -> None:
    seed, first = next(
        (seed, failure)
        for seed in range(10_000, 11_000)
        if (failure := outcome(*drawn_life(seed), engine)).oracle
    )

    text, _, story = retold(seed, engine).partition("\n\n")
    life = Parser("life.txt", f"{text}\n").life()
    again = outcome(life.setting, life.steps, engine)

    assert life.title.startswith(f"Seed {seed}: {first.oracle}")
    assert again.oracle == first.oracle
    assert again.story == story.splitlines()
    assert len(life.lines) < len(first.lines)
