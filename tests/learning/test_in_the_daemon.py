"""The daemon does the night's work beside everything else: while a model thinks, edits are found as ever."""

import threading

from tests.models.scripted import Asked, ScriptedModel, Sent, learns
from tests.scenarios.outside import until


def test_the_daemon_keeps_indexing_while_a_slow_model_answers_for_the_night(bedroom):
    seen = bedroom.seen
    asked, think = threading.Event(), threading.Event()

    def answers(question: Asked) -> Sent:
        asked.set()
        think.wait(120)
        return learns(question)

    seen.ok(
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "mira",
        "I am allergic to mackerel since I was a child.",
    )
    with ScriptedModel(answers) as model:
        bedroom.set(BRAIN_KIND="openai", BRAIN_BASE_URL=model.url, BRAIN_MODEL="small")
        seen.ok("end-session", "s", "--user", "mira")
        with seen.daemon() as daemon:
            assert asked.wait(120)
            seen.write("Users/mira/memories/kites.md", "- The red kite is in the loft\n")
            daemon.until_found("red kite")
            think.set()
            until(lambda: list((bedroom.vault / "Users/mira/memories").glob("20*.md.audit.jsonl")))
            until(lambda: daemon.ask("status")["night"]["due"] == [])

    questions = [question.wants for question in model.asked]
    assert questions[:2] == ["memories", "facts"]
    assert not {"memories", "facts"} & set(questions[2:])
