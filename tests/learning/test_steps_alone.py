"""A step after the notes that fails takes nothing else of the night with it."""

import pytest

from tests.models.scripted import ScriptedModel, learns
from vault_memory.learning import steps
from vault_memory.learning.unread_turns import ROOM

NOTE = "Users/mira/memories/2026-05-25.md"
SCOPE = "user:mira"


@pytest.mark.sampled
@pytest.mark.parametrize("step", sorted(steps.ALONE, key=lambda step: step.__name__))
def test_a_failing_step_is_named_and_the_others_run(bedroom, monkeypatch, step):
    def fails(cycle: object) -> None:
        raise RuntimeError("no such luck")

    fails.__name__ = step.__name__
    broken = tuple(fails if other is step else other for other in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", broken)
    monkeypatch.setattr(steps, "ALONE", steps.ALONE | {fails})
    bedroom.say("Remember that the spare rope is in the oil store.")

    first = bedroom.sleep()[SCOPE]
    before = bedroom.text(NOTE)
    again = bedroom.sleep()[SCOPE]

    name = step.__name__.replace("_", " ")
    assert first["state"] == "done"
    assert f"{name} failed: no such luck" in first["reason"]
    assert again["gathered"] == 0
    assert bedroom.text(NOTE) == before


def test_a_contradiction_is_settled_the_night_after_its_step_failed(bedroom, monkeypatch):
    def fails(cycle: object) -> None:
        raise RuntimeError("no such luck")

    for word, day in (("likes", 20), ("dislikes", 22)):
        at = f"2026-05-{day}T12:00:00+01:00"
        fact = ("mira", word, "espresso")
        bedroom.seen.ok("add-fact", "--user", "mira", *fact, "--now", at)
    broken = tuple(fails if step is steps.conflicts else step for step in steps.STEPS)
    with monkeypatch.context() as patch:
        patch.setattr(steps, "STEPS", broken)
        patch.setattr(steps, "ALONE", steps.ALONE | {fails})
        first = bedroom.sleep()[SCOPE]
    second = bedroom.sleep(now="2026-05-27T02:05+01:00")[SCOPE]
    third = bedroom.sleep(now="2026-05-28T02:05+01:00")[SCOPE]

    assert "no such luck" in first["reason"]
    assert [first["conflicts"], second["conflicts"], third["conflicts"]] == [0, 1, 0]


@pytest.mark.sampled
def test_no_question_exceeds_its_room(bedroom):
    page = "Users/mira/lantern/config/FACTS.md"
    facts = "".join(f"- likes: thing {number}\n" for number in range(2_000))
    bedroom.seen.write(page, f"## mira\n\n{facts}")
    for number in range(40):
        bedroom.say(f"I saw the grey ship of harbour {number} today, {'far ' * 115}out.")
    with ScriptedModel(learns) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        slept = bedroom.sleep("--user", "mira")[SCOPE]

    sizes = [len(asked.text) for asked in model.asked]
    assert slept["gathered"] == 40
    assert len(sizes) > 1
    assert max(sizes) <= ROOM
