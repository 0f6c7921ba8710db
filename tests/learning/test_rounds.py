"""A night asks as many questions as a long day needs: each fits its room, and each own turn stands in one of them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import FULL
from tests.models.scripted import ScriptedModel, says
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.learning import asking, runner
from vault_memory.learning.cycle import LearningCycle
from vault_memory.learning.runner import LearningRunner, LearningVault
from vault_memory.learning.steps import STEPS, run_steps
from vault_memory.learning.unread_turns import ROOM
from vault_memory.models.base import BrainAnswer
from vault_memory.models.llm.phrase_rules import RulesBrain
from vault_memory.rules.conversations.turn import Turn
from vault_memory.rules.learning.candidate import Extraction
from vault_memory.rules.learning.grounding import grounded
from vault_memory.rules.learning.model_prompt import Prompt

SCOPE = "user:mira"
EVENING = datetime(2026, 5, 25, 18, tzinfo=UTC)
NIGHT = datetime(2026, 5, 26, 2, 5, tzinfo=UTC)


SMALL_ROOM = 6_000
LONG = "rope, " * 600
"""A turn of which no second one has the small room"""
TURNS = 10_000 if FULL else 4_000


class Killed(BaseException):
    """As if the process had ended here."""


@dataclass
class Listener:
    """A model that answers as the rules do, and remembers what it was asked."""

    asked: list[Prompt] = field(default_factory=list)
    name: str = "listener"

    def answer(self, prompt: Prompt) -> BrainAnswer:
        self.asked.append(prompt)
        return replace(RulesBrain().answer(prompt), model=self.name)


def turns_of(texts: Sequence[tuple[str, str, bool]]) -> list[Turn]:
    """Turns from texts, sessions, and whether a job said it."""
    return [
        Turn(
            f"t{number}",
            (EVENING + timedelta(seconds=number)).isoformat(),
            session,
            "user",
            "mira",
            "",
            text,
            automated=automated,
        )
        for number, (text, session, automated) in enumerate(texts)
    ]


class House:
    """A vault in which something was said, and its nights."""

    def __init__(self, folder: Path, turns: Sequence[Turn]) -> None:
        self.vault, self.listener = folder / "vault", Listener()
        transcript = self.vault / f"Users/mira/transcripts/{EVENING.date()}.jsonl"
        transcript.parent.mkdir(parents=True)
        transcript.write_text("".join(json.dumps(turn.as_json()) + "\n" for turn in turns))
        self.environment = {
            "VAULT_MEMORY_STATE": str(folder / "state"),
            "VAULT_MEMORY_CACHE": str(folder / "cache"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
            "VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC",
        }

    def night(self, room: int, kills: Sequence[int] = ()) -> Mapping[str, Any]:
        """All questions of a night, killed after these steps; what it says that it did."""
        kills = list(kills)
        with VaultMemory.open(self.vault, environment=self.environment) as memory:
            runner = LearningRunner(memory.searcher, memory._open_again, NIGHT)
            opened = LearningVault(memory.edits, memory.conversations)
            deps = replace(runner._deps(opened), brain=lambda role: self.listener)
            request = replace(runner._request(SCOPE), room=room)
            done = False
            while not done:
                steps = iter(STEPS)
                end = STEPS[kills.pop()] if kills else None

                def after(name: str, steps: object = steps, end: object = end) -> None:
                    if next(steps) is end:  # type: ignore[call-overload]
                        raise Killed

                with suppress(Killed):
                    done = not run_steps(LearningCycle(deps, request), after).more
            return runner.checkpoints.last(SCOPE).outcome


TEXTS = st.one_of(
    st.just("ok"),
    st.integers(1, 900).map("x".__mul__),
    st.integers(1, 90).map("a\n".__mul__),
    st.just("I love sour cherries since that summer."),
    st.just("I am allergic to mackerel since I was a child."),
)


@settings(max_examples=8)
@given(
    said=st.lists(st.tuples(TEXTS, st.sampled_from("ab"), st.booleans()), min_size=1, max_size=30),
    room=st.sampled_from([900, 2_000, ROOM]),
    kills=st.lists(st.integers(0, len(STEPS) - 1), max_size=6),
)
@example(
    [("I love sour cherries since that summer.", "a", False)] + [("x" * 400, "b", False)] * 8,
    900,
    list(range(len(STEPS))),
)
def test_each_own_turn_of_any_day_is_in_exactly_one_prompt_that_fits(said, room, kills):
    turns = turns_of(said)
    with TemporaryDirectory() as folder:
        house = House(Path(folder), turns)
        outcome = house.night(room, kills)

    shown = [one.ts for prompt in house.listener.asked for one in prompt.excerpts if one.own]
    assert sorted(shown) == sorted(turn.ts for turn in turns if not turn.automated)
    assert all(len(prompt.text) <= room for prompt in house.listener.asked)
    assert (outcome["gathered"], outcome["more"]) == (len(turns), 0)


@pytest.mark.sampled
def test_none_of_two_hundred_turns_is_skipped(tmp_path):
    turns = turns_of([(f"{number:03}" + "x" * 497, "s", False) for number in range(200)])
    house = House(tmp_path, turns)

    outcome = house.night(ROOM)

    assert [one.text for prompt in house.listener.asked for one in prompt.excerpts] == [
        turn.text for turn in turns
    ]
    assert (outcome["gathered"], len(house.listener.asked)) == (200, 3)


@pytest.mark.sampled
def test_thousands_of_short_turns_never_make_an_oversized_prompt(tmp_path):
    house = House(tmp_path, turns_of([("ok", "s", False)] * TURNS))

    outcome = house.night(ROOM)

    assert max(len(prompt.text) for prompt in house.listener.asked) <= ROOM
    assert len(house.listener.asked) > 1
    assert outcome["gathered"] == TURNS


@pytest.mark.sampled
def test_notes_that_would_fill_the_prompt_leave_half_of_it_to_the_turns(tmp_path):
    house = House(tmp_path, turns_of([("x" * 400, "s", False)] * 100))
    config = house.vault / "Users/mira/lantern/config"
    config.mkdir(parents=True)
    for name in ("USER.md", "FACTS.md"):
        (config / name).write_text("## Tea\n\n" + "- green, and without milk\n" * 2000)

    house.night(ROOM)

    assert [len(one.excerpts) for one in house.listener.asked] == [57, 43]
    assert all(ROOM * 0.8 < len(one.text) <= ROOM for one in house.listener.asked)
    assert all(
        [name for name, _ in one.known] == ["profile", "facts"] for one in house.listener.asked
    )


@pytest.mark.parametrize("role", ["curation", "reflection"])
def test_a_prompt_about_notes_fits_the_context_too(tmp_path, role):
    known = tuple((f"note-{number}", "- tea\n" * 4000) for number in range(8))

    prompt = Prompt(role, "", known).fitted(ROOM)

    assert ROOM - 100 <= len(prompt.text) <= ROOM
    assert len({len(text) for _, text in prompt.known}) == 1


@pytest.fixture
def small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few letters make a long night."""
    request = LearningRunner._request
    monkeypatch.setattr(
        LearningRunner,
        "_request",
        lambda runner, *about: replace(request(runner, *about), room=SMALL_ROOM),
    )


@pytest.mark.sampled
@pytest.mark.usefixtures("small_room")
def test_a_long_night_edits_the_profile_once_and_counts_as_one_night(bedroom):
    for number in range(3):
        bedroom.say(f"{number} {LONG}", at=f"18:0{number}")
    with ScriptedModel(says({"memories": [], "facts": [], "topics": {}, "ops": []})) as found:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=found.url, BRAIN_MODEL="small")
        bedroom.set(SLEEP_CYCLE_CURATE_USER_MEMORY="true")
        out = bedroom.sleep()[SCOPE]

    edits = [asked for asked in found.asked if "You keep the note" in asked.system]
    # Three about the turns, and at the end one each about contradictions, names and the note.
    assert (len(found.asked), len(edits)) == (6, 1)
    assert (out["gathered"], out["more"], out["state"], out["idle"]) == (3, 0, "done", 1)


@pytest.mark.usefixtures("small_room")
def test_a_long_night_without_news_counts_as_one_idle_night(bedroom):
    for number in range(3):
        bedroom.say(f"{number} {LONG}", at=f"18:0{number}")

    assert bedroom.sleep()[SCOPE]["idle"] == 1


@pytest.mark.usefixtures("small_room")
def test_turns_left_after_the_last_prompt_are_reported_and_read_by_the_next_run(
    bedroom, monkeypatch
):
    monkeypatch.setattr(runner, "MOST_ROUNDS", 2)
    for number in range(3):
        bedroom.say(f"{number} {LONG}", at=f"18:0{number}")

    out = bedroom.sleep()[SCOPE]
    report = (bedroom.seen.state / "nights/reports/2026-05-26.md").read_text()
    assert (out["gathered"], out["more"], out["state"]) == (2, 1, "partial")
    assert "1 turn found no room; the next run begins there" in report

    out = bedroom.sleep("--due")[SCOPE]
    assert (out["gathered"], out["more"], out["state"]) == (1, 0, "done")


def test_a_night_without_a_model_looks_up_its_findings_once(bedroom, monkeypatch) -> None:
    looked_up: list[int] = []

    def counted(extraction: Extraction, *others: Any, **options: Any) -> Extraction:
        looked_up.append(len(extraction.memories))
        return grounded(extraction, *others, **options)

    monkeypatch.setattr(asking, "grounded", counted)
    bedroom.say("I am allergic to mackerel.")

    bedroom.sleep("--user", "mira")

    assert looked_up == [1]
    assert "mackerel" in bedroom.text("Users/mira/lantern/config/FACTS.md")
