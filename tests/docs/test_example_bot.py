"""The example bot, as its user has it: a program on a terminal, a server that speaks OpenAI's protocol, a vault."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.scripted import ScriptedModel, fails, says
from tests.scenarios.outside import Outside
from tests.scenarios.outside import outside as outside

BOT = Path(__file__).resolve().parent.parent.parent / "docs/examples/bot.py"


def talk(outside: Outside, model: ScriptedModel, *lines: str, user: str = "ann") -> str:
    """One conversation; what stood on the terminal after it."""
    command = [sys.executable, str(BOT), "--vault", str(outside.vault), "--user", user]
    done = subprocess.run(
        [*command, "--url", model.url, "--model", "small"],
        input="\n".join([*lines, "/quit", ""]),
        capture_output=True,
        text=True,
        timeout=60,
        env=outside.environment | {"OPENAI_API_KEY": "k", "no_proxy": "*"},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def asked(model: ScriptedModel, number: int = -1) -> str:
    """What the model got as the person's words, the memory block before them."""
    messages = model.asked[number].body["messages"]
    assert [message["role"] for message in messages[:1]] == ["system"]
    assert "vault-memory" not in messages[0]["content"]
    assert messages[-1]["role"] == "user"
    return str(messages[-1]["content"])


def known(model: ScriptedModel) -> str:
    """What the block says is so; what was once said, and when, stands after it."""
    return asked(model).partition('kind="recalled"')[0]


@pytest.mark.sampled
def test_the_bot_remembers_from_the_first_turn_learns_at_night_and_takes_corrections(
    outside: Outside,
) -> None:
    outside.write("Users/ann/bot/config/USER.md", "## Boats\n\n- Sails a yawl called Sula\n")
    with ScriptedModel(says("Hello Ann.")) as model:
        shown = talk(
            outside, model, "Good morning!", "I live in Faro.", "My sister is called Ines."
        )

        assert shown.count("bot> Hello Ann.") == 3
        assert "Sails a yawl called Sula" in asked(model, 0)
        assert asked(model, 0).endswith("</vault-memory>\n\nGood morning!")
        assert [one["content"] for one in model.asked[2].body["messages"][1:3]] == [
            "Good morning!",
            "Hello Ann.",
        ]
        assert model.asked[0].headers["Authorization"] == "Bearer k"

        outside.ok("sleep", "--user", "ann")
        talk(outside, model, "Where do I live?")

        assert "lives_in: Faro" in asked(model)
        told = talk(
            outside,
            model,
            "/correct Faro => Lisbon",
            "/correct Sails a yawl => Sails a ketch called Skua",
        )
        assert told.count("corrected") == 2
        talk(outside, model, "Where do I live, and what do I sail?")

        assert "lives_in: Lisbon" in asked(model)
        assert "Faro" not in known(model)
        assert "Sails a ketch called Skua" in asked(model)
        assert "yawl" not in known(model)
        assert "Ines" in asked(model)

        outside.ok("sleep", "--user", "ann")
        talk(outside, model, "And where do I live now?")
        assert "lives_in: Lisbon" in asked(model)
        assert "Faro" not in known(model)

        talk(outside, model, "Where does Ann live?", user="bob")
        assert "Lisbon" not in asked(model)


@pytest.mark.sampled
def test_a_server_error_or_an_incomplete_command_does_not_end_the_bot(outside: Outside) -> None:
    with ScriptedModel(fails(500, "overloaded"), says("Here I am.")) as model:
        shown = talk(outside, model, "Are you there?", "/correct Faro", "Hello?")

    assert "that went wrong: HTTP Error 500" in shown
    assert "say it as: /correct WRONG => RIGHT" in shown
    assert "bot> Here I am." in shown


def test_the_bot_exits_cleanly_at_the_end_of_its_input(outside: Outside) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(BOT),
            "--vault",
            str(outside.vault),
            "--user",
            "ann",
            "--url",
            "http://x",
            "--model",
            "m",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=outside.environment,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_example_bot_has_fewer_than_ninety_lines() -> None:
    lines = [
        line
        for line in BOT.read_text().splitlines()
        if line.strip() and not line.strip().startswith('"""')
    ]

    assert len(lines) < 90
