"""Each turn is read by one night, wherever it was said and whenever its transcript arrives here."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations.transcripts import Transcripts
from vault_memory.learning.checkpoint import CheckpointStore, LastCycle
from vault_memory.learning.cycle import CycleDeps, CycleRequest, LearningCycle
from vault_memory.learning.steps import gather_turns, load_checkpoint, save_checkpoint
from vault_memory.learning.unread_turns import Log
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scope_notes import Places
from vault_memory.vault.devices import Devices
from vault_memory.vault.reader import Folder

SCOPE = "user:mira"
FIRST = datetime(2026, 5, 1, 2, tzinfo=UTC)
DEVICES = ("", "phone", "laptop")


class House:
    """A vault with the transcripts that have arrived here, and what its nights remember."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder / "vault", folder / "state"
        for one in (self.folder, self.state):
            one.mkdir()
        self.shelf = CheckpointStore(self.state)
        self.said: dict[str, datetime] = {}
        self.waiting: dict[str, list[Turn]] = {name: [] for name in DEVICES}
        """said on a device, and not here yet"""
        self.read: list[str] = []
        self.now = FIRST

    def say(self, device: str, hours: int) -> None:
        """Something is said on a device so many hours before now; its clock may be late, too."""
        at = self.now - timedelta(hours=hours)
        id_ = f"t{len(self.said)}"
        self.said[id_] = at
        self.waiting[device].append(
            Turn(id_, at.isoformat(), "s", "user", "mira", "", f"word {id_}", device=device)
        )

    def arrive(self, device: str, most: int) -> None:
        """Some of what was said there stands in this vault from now on."""
        turns, self.waiting[device] = (self.waiting[device][:most], self.waiting[device][most:])
        for turn in turns:
            name = f"{turn.at.date()}.{device}.jsonl" if device else f"{turn.at.date()}.jsonl"
            file = self.folder / "Users/mira/transcripts" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as log:
                log.write(json.dumps(turn.as_json()) + "\n")

    def night(self, killed: str = "") -> None:
        """The steps that have to do with it; `killed`: after the step of this name, or within the last one."""
        self.now += timedelta(days=1)
        transcripts = Transcripts(Folder(self.folder), Layout(), Devices(self.state), str)

        def logs(scope: str, known: object) -> dict[str, Log]:
            return {path: Log(*log) for path, log in transcripts.logs(scope, known).items()}

        nowhere = Places(SCOPE, "", "", "", "", "")
        desk = CycleDeps(None, self.shelf, lambda scope: nowhere, logs, None, None, None, None)  # type: ignore[arg-type]
        night = LearningCycle(desk, CycleRequest(SCOPE, self.now.date(), self.now, UTC))
        load_checkpoint(night)
        gather_turns(night)
        if killed == "gather_turns":
            return
        if killed == "end":
            self.shelf.close = lambda *done: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
            with suppress(KeyboardInterrupt):
                save_checkpoint(night)
            del self.shelf.close
            return
        save_checkpoint(night)
        self.read += [turn.id for turn in night.gathered.turns]


DONE = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(DEVICES), st.integers(0, 200)),
    st.tuples(st.just("arrive"), st.sampled_from(DEVICES), st.integers(1, 3)),
    st.tuples(st.just("night"), st.sampled_from(["", "", "gather_turns", "end"])),
)


@pytest.mark.sampled
@settings(max_examples=25)
@given(st.lists(DONE, max_size=30))
@example(
    [
        ("say", "phone", 0),
        ("night", ""),
        ("say", "", 0),
        ("arrive", "", 1),
        ("night", ""),
        ("arrive", "phone", 1),
    ]
)
@example(
    [
        ("say", "", 1),
        ("arrive", "", 1),
        ("night", "end"),
        ("say", "phone", 2),
        ("arrive", "phone", 1),
        ("night", ""),
    ]
)
def test_each_turn_is_read_once_in_any_order_of_arrivals_and_nights(story):
    with TemporaryDirectory() as folder:
        house = House(Path(folder))
        house.night()  # the memory begins here
        for what, *how in story:
            getattr(house, what)(*how)
        for device in DEVICES:
            house.arrive(device, len(house.said))
        house.night()
        house.night()

    assert sorted(house.read) == sorted(one for one, at in house.said.items() if at >= FIRST)


def test_turns_read_by_an_older_version_are_skipped_and_late_ones_are_read(tmp_path):
    house = House(tmp_path)
    for device, hours in (("", 5), ("", 3), ("phone", 4), ("", 1)):
        house.say(device, hours)
    house.arrive("", 3)
    newest = house.waiting["phone"][
        0
    ].id  # not here: this version had read up to the third by its time
    house.shelf.save(
        SCOPE, LastCycle(SCOPE, "2026-05-01", "t1", house.said["t1"].isoformat(), serial=7)
    )
    house.night("gather_turns")
    house.arrive("phone", 1)
    house.night()
    house.night()

    assert newest == "t2"
    assert sorted(house.read) == ["t2", "t3"]
    assert house.shelf.last(SCOPE).serial == 9


def test_a_transcript_already_read_is_not_opened_again_until_it_changes(tmp_path):
    house = House(tmp_path)
    house.night()
    house.say("", 0)
    house.arrive("", 1)
    house.night()
    house.night()
    known = house.shelf.last(SCOPE).files
    transcripts = Transcripts(Folder(house.folder), Layout(), Devices(house.state), str)
    assert [turns for _, turns in transcripts.logs(SCOPE, known).values()] == [None]
    house.say("", 48)
    house.arrive("", 1)
    assert [len(turns) for _, turns in transcripts.logs(SCOPE, known).values() if turns] == [2]


def test_a_late_turn_of_another_device_is_learned_into_the_note_of_its_day(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.", day="2026-05-24")
    bedroom.sleep(now="2026-05-25T02:05+01:00")
    turn = Turn(
        "p1",
        "2026-05-24T09:00:00+01:00",
        "s",
        "user",
        "mira",
        "",
        "I love sour cherries since that summer.",
        device="phone",
    )
    late = bedroom.vault / "Users/mira/transcripts/2026-05-24.phone.jsonl"
    late.write_text(json.dumps(turn.as_json()) + "\n")

    out = bedroom.sleep()[SCOPE]

    assert (out["gathered"], out["memories"]) == (1, 1)
    note = bedroom.text("Users/mira/memories/2026-05-24.md")
    assert "mackerel" in note
    assert "sour cherries since that summer (2026-05-24, ref:p1, topic:personal)" in note
    assert bedroom.sleep()[SCOPE]["gathered"] == 0


class Stopped(Exception):
    """The power went."""


def test_a_turn_that_arrives_during_an_interrupted_night_is_learned_too(bedroom):
    def stop(scope: str, step: str) -> None:
        if step == "write_notes":
            raise Stopped

    bedroom.say("I am allergic to mackerel since I was a child.")
    with (
        VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory,
        suppress(Stopped),
    ):
        memory.sleep(scopes=[SCOPE], now=datetime(2026, 5, 26, 1, 5, tzinfo=UTC), after=stop)
    bedroom.say("I love sour cherries since that summer.", at="17:00")

    assert bedroom.sleep()[SCOPE]["gathered"] == 2
    note = bedroom.text("Users/mira/memories/2026-05-25.md")
    assert (note.count("mackerel"), note.count("cherries")) == (1, 1)
