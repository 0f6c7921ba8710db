"""A night that was killed while the model answered learns from the same day when it runs again."""

import signal
import subprocess
import time

import pytest

from tests.models.scripted import ScriptedModel, learns, says

SCOPE = "user:mira"


@pytest.mark.sampled
@pytest.mark.parametrize(
    "repeated",
    [
        "2026-05-26T02:05+01:00",
        "2026-05-26T09:00+01:00",
        "2026-05-27T02:05+01:00",
        "2026-05-28T02:05+01:00",
    ],
)
def test_a_night_killed_during_an_answer_learns_from_its_day_later(bedroom, repeated):
    bedroom.say("I am allergic to mackerel since I was a child.")
    with ScriptedModel(says({}, wait=60), learns) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        env = bedroom.seen.environment
        process = subprocess.Popen(
            bedroom.seen.command("sleep", "--now", "2026-05-26T02:05+01:00", "--json"),
            env=env,
            start_new_session=True,
        )
        while not model.asked:
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        out = bedroom.sleep(now=repeated)
    print(out)
    assert out[SCOPE]["memories"] == 1
    assert "mackerel" in bedroom.text("Users/mira/memories/2026-05-25.md")


@pytest.mark.sampled
def test_a_day_can_be_read_again_after_a_model_answered_badly(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")
    bedroom.say("Kelp grows behind the boathouse.", at="18:05")
    with ScriptedModel(says("NO_NEW_MEMORIES"), learns) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        first = bedroom.sleep()[SCOPE]
        shown = bedroom.sleep("--again", "2026-05-25", "--dry-run")[SCOPE]
        again = bedroom.sleep("--again", "2026-05-25")[SCOPE]

    assert (first["gathered"], shown["gathered"], again["gathered"]) == (2, 2, 2)
    note = bedroom.text("Users/mira/memories/2026-05-25.md")
    assert "Kelp grows" in note
    assert note.count("mackerel") <= 1
    assert "mackerel" in note + bedroom.text("Users/mira/lantern/config/FACTS.md")


def test_a_day_without_turns_can_be_read_again_without_harm(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")
    bedroom.sleep()
    before = bedroom.files()

    assert bedroom.sleep("--again", "2020-01-01")[SCOPE]["gathered"] == 0
    assert bedroom.files() == before
