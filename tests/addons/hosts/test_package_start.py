"""The script by which each package starts the program: `packaging/start.sh`."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.every import every
from tests.scenarios.outside import Outside

SCRIPT = PROJECT / "packaging" / "start.sh"
START = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
PROMPT = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Hello"})
NOTHING = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
"""An environment with a shell, and without the program"""


def start(
    *words: str, text: str = "", script: Path = SCRIPT, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ("/bin/sh", str(script), *words),
        input=text,
        capture_output=True,
        text=True,
        env=NOTHING | environment,
        timeout=60,
    )


@pytest.fixture
def program(outside: Outside) -> dict[str, str]:
    """The environment of a person who has the program, and a vault with a note."""
    outside.write("Users/ann/bot/config/USER.md", "- rows the heron boat\n")
    outside.here("index", "--no-embed")
    path = f"{PROJECT / '.venv' / 'bin'}:/usr/bin:/bin"
    return outside.environment | {"PATH": path, "HOME": str(outside.home)}


MISSING = [("", "no folder of notes is named"), ("/vault", "the program was not found")]


@every(("vault", "reason"), MISSING)
def test_what_is_missing_is_said_and_never_stops_a_conversation(vault: str, reason: str) -> None:
    first = start(vault, "mira", "hook", "claude-code", text=START)
    prompt = start(vault, "mira", "hook", "claude-code", text=PROMPT)
    server = start(vault, "mira", "mcp")

    assert (first.returncode, prompt.returncode, server.returncode) == (0, 0, 1)
    assert reason in json.loads(first.stdout)["systemMessage"]
    assert prompt.stdout == server.stdout == ""
    assert reason in server.stderr


def test_the_vault_comes_from_the_words_the_environment_or_the_file_of_settings(
    outside: Outside, program: dict[str, str], tmp_path: Path
) -> None:
    beside = tmp_path / "a folder"
    beside.mkdir()
    copied = beside / "start.sh"
    copied.write_bytes(SCRIPT.read_bytes())
    settings_file = f'VAULT_MEMORY_VAULT="{outside.vault}"\nVAULT_MEMORY_USER=ann\n'
    (beside / ".env").write_text(settings_file)
    named = {"VAULT_MEMORY_VAULT": str(outside.vault), "VAULT_MEMORY_USER": "ann"}
    words = ("hook", "claude-code")
    cases = {
        "words": ((str(outside.vault), "ann"), SCRIPT, {}),
        "environment": (("", ""), SCRIPT, named),
        "settings that were not filled in": (("${user_config.vault}", "${x}"), SCRIPT, named),
        "file": (("", ""), copied, {}),
    }

    for case, (settings, script, variables) in cases.items():
        event = json.dumps({**json.loads(START), "session_id": case})
        done = start(*settings, *words, text=event, script=script, **program, **variables)

        assert "rows the heron boat" in done.stdout, (case, done.stderr)


def test_a_word_of_a_setting_is_never_run(outside: Outside, program: dict[str, str]) -> None:
    trap = outside.home / "trap"
    evil = f'$(touch {trap}) `touch {trap}`; touch {trap} #"'

    start(str(outside.vault), f"x{evil}", "hook", "claude-code", text=START, **program)
    start(f"x{evil}", "mira", "hook", "claude-code", text=START, **program)

    assert not os.path.exists(trap)
