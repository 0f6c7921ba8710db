"""A conversation that has ended is learned from soon when a model is there, and the night adds nothing twice."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.learning.test_brains import NOTE, PROFILE, SCOPE, about_turns, model
from tests.models.scripted import ScriptedModel, fails, learns, says
from tests.scenarios.outside import until
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.conversations.sessions import Sessions
from vault_memory.learning.checkpoint import CheckpointStore
from vault_memory.service import background_turns

FACTS = PROFILE.replace("USER.md", "FACTS.md")
NOON = datetime(2026, 5, 25, 12, 30, tzinfo=UTC)


def notes_of(bedroom):
    """All files but the weekly reflections, and the reads that a night counts."""
    return {
        name: raw
        for name, raw in bedroom.files().items()
        if "reflections" not in name and not name.endswith("learning/counts.jsonl")
    }


def learn(bedroom, now=NOON):
    with VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory:
        return memory.learning.learn_from_ended(now=now)


def record_turn(bedroom, text, session, at, **more):
    return bedroom.say(text, session=session, at=at, **more)


def end_session(bedroom, session):
    now = "2026-05-25T13:00+01:00"
    bedroom.seen.ok("end-session", session, "--user", "mira", "--now", now)


@pytest.mark.sampled
def test_an_ended_conversation_is_learned_before_the_night_and_not_again(bedroom):
    with model(bedroom, learns) as asked:
        bedroom.sleep(now="2026-05-25T02:05+01:00")
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        record_turn(
            bedroom, "I love sour cherries since that summer.", "walk", "11:00"
        )  # which ends the one before
        [done] = learn(bedroom).scopes
        assert (done["session"], done["gathered"], done["memories"], done["state"]) == (
            "tea",
            1,
            1,
            "done",
        )
        assert "mackerel" in bedroom.text(NOTE)
        assert "cherries" not in bedroom.text(NOTE)
        assert "conversation of 2026-05-25" in bedroom.records(NOTE)[0]["why"]
        assert "cherries" not in asked.asked[-1].text
        assert bedroom.seen.ok("status")["night"]["last"] == "2026-05-25"
        assert learn(bedroom).scopes == ()

        end_session(bedroom, "walk")
        [done] = learn(bedroom).scopes
        before = notes_of(bedroom)
        tonight = bedroom.sleep()[SCOPE]
        assert (tonight["gathered"], tonight["heard"], tonight["idle"]) == (0, 2, 0)
        assert notes_of(bedroom) == before
        report = (bedroom.seen.state / "nights/reports/2026-05-26.md").read_text()
        assert "2 turns read" in report
        assert "2 remembered" in report


def test_a_continued_conversation_is_learned_again_with_only_its_new_turns(bedroom):
    with model(bedroom, learns) as asked:
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        end_session(bedroom, "tea")
        learn(bedroom)
        record_turn(bedroom, "I love sour cherries since that summer.", "tea", "11:00")
        assert learn(bedroom).scopes == ()
        end_session(bedroom, "tea")
        [done] = learn(bedroom).scopes
        assert done["gathered"] == 1
        assert [text for _, _, text in asked.asked[-1].turns] == [
            "I love sour cherries since that summer."
        ]
        assert bedroom.text(NOTE).count("mackerel") == bedroom.text(NOTE).count("cherries") == 1


@pytest.mark.sampled
def test_a_conversation_too_long_for_one_prompt_is_learned_completely(bedroom):
    with model(bedroom, says({"memories": [], "facts": []})) as server:
        bedroom.sleep(now="2026-05-25T02:05+01:00")
        for number in range(3):
            text = f"I am allergic to fish {number}." + " So it is" * 3000 + "."
            record_turn(bedroom, text, "tea", f"10:0{number}")
        end_session(bedroom, "tea")
        [done] = learn(bedroom).scopes

    assert (done["session"], done["gathered"], done["more"], done["state"]) == ("tea", 3, 0, "done")
    texts = {text for asked in about_turns(server) for _, _, text in asked.turns}
    assert len(texts) == 3


def test_nothing_is_pruned_curated_or_reflected_before_the_night(bedroom):
    settings = {"SLEEP_CYCLE_CURATE_USER_MEMORY": "true", "SLEEP_CYCLE_MEMORY_RETENTION_DAYS": "3"}
    with model(bedroom, learns, **settings) as asked:
        before = {name for name in bedroom.files() if "/memories/" in name}
        profile = bedroom.text(PROFILE)
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        end_session(bedroom, "tea")
        learn(bedroom)
        assert [question.wants for question in asked.asked] == ["memories", "facts"]
        assert before <= set(bedroom.files())
        assert bedroom.text(PROFILE) == profile

        assert bedroom.sleep()[SCOPE]["pruned"] > 0
        assert any("You keep the note" in one.system for one in asked.asked), (
            "and the night curates what was learned"
        )


def test_without_a_model_a_conversation_is_learned_at_its_end_and_a_channel_waits(bedroom):
    record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
    end_session(bedroom, "tea")
    assert "mackerel" in bedroom.text(FACTS)
    assert learn(bedroom).scopes == ()
    with model(bedroom, learns):
        record_turn(bedroom, "The bell weighs ninety kilos.", "bell", "10:30", channel="fogbell")
        end_session(bedroom, "bell")
        assert [one["session"] for one in learn(bedroom).scopes] == []
    assert not bedroom.text("Channels/fogbell/memories/2026-05-25.md")


def test_while_the_model_is_down_nothing_is_learned_and_the_night_takes_over(bedroom):
    with model(bedroom, fails(500, "broken", Retry_After="0")):
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        end_session(bedroom, "tea")
        failed = learn(bedroom)
        assert failed.failed
        assert not bedroom.text(NOTE)
        assert learn(bedroom).failed

        tonight = bedroom.sleep()[SCOPE]
    assert (tonight["gathered"], tonight["memories"], tonight["rung"]) == (1, 1, "rules")
    assert bedroom.text(NOTE).count("mackerel") == 1
    assert learn(bedroom).scopes == ()


@pytest.mark.sampled
def test_learning_interrupted_by_a_kill_is_completed_by_the_next_run(bedroom):
    class Stopped(BaseException):
        pass

    with model(bedroom, learns):
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        end_session(bedroom, "tea")
        with VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment) as memory:
            shelf = CheckpointStore(memory.vault.state.path)
            real = CheckpointStore.close
            CheckpointStore.close = lambda *done: (_ for _ in ()).throw(Stopped)
            try:
                with pytest.raises(Stopped):
                    memory.learning.learn_from_ended(now=NOON)
            finally:
                CheckpointStore.close = real
            assert shelf.open_cycle(SCOPE).session == "tea"
        assert "mackerel" in bedroom.text(NOTE)
        record_turn(bedroom, "I love sour cherries since that summer.", "walk", "11:00")

        assert bedroom.sleep()[SCOPE]["gathered"] == 2
        assert bedroom.text(NOTE).count("mackerel") == 1
        assert "cherries" in bedroom.text(NOTE)


def test_the_daemon_backs_off_while_the_model_does_not_answer(bedroom, monkeypatch):
    bedroom.sleep(now="2026-05-25T02:05+01:00")
    with model(bedroom, fails(500, "broken", Retry_After="0")) as asked:
        record_turn(bedroom, "I am allergic to mackerel since I was a child.", "tea", "10:00")
        end_session(bedroom, "tea")
        memory = VaultMemory.open(bedroom.vault, environment=bedroom.seen.environment)
        worker = background_turns.NightTurns(memory)
        try:
            assert [worker._learn_from_ended() for _ in range(3)] == [30.0, 60.0, 120.0]
            asked.script = [learns]
            monkeypatch.setattr(
                "vault_memory.models.llm.openai._breakers", {}
            )  # the rest it gives the server is over
            assert worker._learn_from_ended() == background_turns.ENDED_SECONDS
            count = len(asked.asked)
            assert worker._learn_from_ended() == background_turns.ENDED_SECONDS
            assert len(asked.asked) == count
        finally:
            memory.close()


def test_a_daemon_learns_an_ended_conversation_within_seconds_and_the_night_adds_nothing(bedroom):
    seen = bedroom.seen
    hours_away = (datetime.now(UTC) + timedelta(hours=12)).hour
    with ScriptedModel(learns) as model:
        bedroom.set(
            BRAIN_KIND="openai",
            BRAIN_BASE_URL=model.url,
            BRAIN_MODEL="small",
            SLEEP_CYCLE_ZONE="UTC",
            SLEEP_CYCLE_CRON=f"0 {hours_away} * * *",
        )
        seen.ok("sleep")  # so that none is due
        with seen.daemon() as daemon:
            seen.ok(
                "record",
                "--session",
                "tea",
                "--role",
                "user",
                "--user",
                "mira",
                "I am allergic to mackerel since I was a child.",
            )
            seen.ok("end-session", "tea", "--user", "mira")
            notes = bedroom.vault / "Users/mira/memories"
            until(lambda: list(notes.glob("20*.md.audit.jsonl")))
            until(lambda: not Sessions(seen.state).unlearned())
            daemon.until_found("allergic")
            assert daemon.ask("status")["night"]["due"] == []
        before = notes_of(bedroom)
        later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        night = {one["scope"]: one for one in seen.ok("sleep", "--now", later)["scopes"]}[SCOPE]

    assert (night["gathered"], night["heard"]) == (0, 1)
    assert notes_of(bedroom) == before
    assert [asked.wants for asked in about_turns(model)] == ["memories", "facts"]
