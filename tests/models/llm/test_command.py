"""A program of the person's as a brain: what it gets to see, and how it is ended."""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.every import every
from vault_memory.config.sections import BrainSettings
from vault_memory.errors import BrainUnavailable
from vault_memory.models.llm.command import CommandBrain
from vault_memory.models.llm.factory import brain_trouble, load_brain
from vault_memory.models.llm.model_access import ModelAccess
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

PROMPT = Prompt("extraction", "Read.", (), (Excerpt("t1", "I live in Porto.", "alice", own=True),))
GOOD = '{"memories": [{"text": "Lives in Porto", "type": "identity", "topic": "personal", "evidence": ["t1"]}]}'
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "SECRET": "hidden", "WANTED": "seen"}


def brain(*command: str, **more: Any) -> CommandBrain:
    settings: dict[str, Any] = {"kind": "command", "command": command, "timeout_seconds": 20.0}
    return CommandBrain(BrainSettings(**settings | more), ENVIRONMENT)


def python(source: str, **more: Any) -> CommandBrain:
    return brain(sys.executable, "-c", source, **more)


def is_running(pid: int) -> bool:
    """Whether it is there and more than the remains of a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_the_command_gets_json_and_returns_json(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    source = f"import sys; open({str(seen)!r}, 'w').write(sys.stdin.read()); print({GOOD!r})"

    answer = python(source).answer(PROMPT)

    assert answer.rung == "command"
    assert [one.text for one in read_answer(answer.text, PROMPT.turn_ids).memories] == [
        "Lives in Porto"
    ]
    asked = json.loads(seen.read_text())
    assert set(asked) == {"role", "system", "text", "schema", "turn_ids", "problem"}
    assert (asked["role"], asked["turn_ids"], asked["problem"]) == ("extraction", ["t1"], "")


def test_the_command_runs_in_an_empty_folder_with_only_allowed_variables(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    source = (
        "import json, os, sys; "
        f"json.dump([os.getcwd(), os.listdir(), dict(os.environ)], open({str(seen)!r}, 'w')); print({GOOD!r})"
    )

    python(source, environment=("WANTED", "ABSENT")).answer(PROMPT)

    folder, files, environment = json.loads(seen.read_text())
    assert files == []
    assert not Path(folder).exists()
    assert environment["WANTED"] == "seen"
    assert set(environment) <= {"PATH", "WANTED", "LC_CTYPE"}


def test_the_arguments_are_not_interpreted_by_a_shell() -> None:
    source = (
        f"import sys; assert sys.argv[1:] == ['$HOME; echo no', '*'], sys.argv; print({GOOD!r})"
    )

    assert (
        brain(sys.executable, "-c", source, "$HOME; echo no", "*").answer(PROMPT).rung == "command"
    )


def test_an_invalid_answer_is_reported_once_to_the_command_and_repaired() -> None:
    source = f"import json, sys; print({GOOD!r} if json.load(sys.stdin)['problem'] else 'the moon rises')"

    assert python(source).answer(PROMPT).rung == "repair"
    with pytest.raises(BrainUnavailable, match="also after a repair request"):
        python("print('the moon rises')").answer(PROMPT)


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    source = (
        "import os, subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}'); time.sleep(600)"
    )
    started = time.monotonic()

    with pytest.raises(BrainUnavailable, match="longer than 1 s"):
        python(source, timeout_seconds=1.0).answer(PROMPT)

    assert time.monotonic() - started < 300, "it waited for them"
    mine, child = map(int, pids.read_text().split())
    until = time.monotonic() + 120
    while (is_running(mine) or is_running(child)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(mine)
    assert not is_running(child)


def test_background_processes_of_the_command_are_killed_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    source = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], stdout=subprocess.DEVNULL); "
        f"open({str(pid)!r}, 'w').write(str(child.pid)); print({GOOD!r})"
    )

    assert python(source).answer(PROMPT).rung == "command"

    until = time.monotonic() + 120
    while is_running(int(pid.read_text())) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(int(pid.read_text()))


def test_an_endless_answer_is_cut_off() -> None:
    with pytest.raises(BrainUnavailable, match="longer than 4 MB"):
        python("import sys\nwhile True: sys.stdout.write('x' * 65536)").answer(PROMPT)


def test_a_command_need_not_read_its_input() -> None:
    long = Prompt("extraction", "Read.", (), (Excerpt("t1", "tea " * 200_000, "a", own=True),))

    assert python(f"print({GOOD!r})").answer(long).rung == "command"


@every(
    ("command", "words"),
    [
        (("no-such-program-anywhere",), "cannot be started"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "ended with 3"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "ended with -9"),
        (
            (sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'\\xff\\x00')"),
            "is unusable",
        ),
    ],
)
def test_a_failure_is_reported_in_plain_words_and_the_rules_take_over(
    command: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BrainUnavailable, match=words):
        brain(*command).answer(PROMPT)

    answer = load_brain(
        BrainSettings(kind="command", command=command),
        "extraction",
        access=ModelAccess(environment=ENVIRONMENT),
    ).answer(PROMPT)

    assert answer.rung == "rules"
    assert words in answer.reason
    assert [one.text for one in read_answer(answer.text, PROMPT.turn_ids).memories] == [
        "I live in Porto"
    ]


def test_a_missing_command_is_noticed_before_the_night() -> None:
    assert "no-such-program" in brain_trouble(
        BrainSettings(kind="command", command=("no-such-program",))
    )
    assert "`brain.command` is not set" in brain_trouble(BrainSettings(kind="command"))
    assert brain_trouble(BrainSettings(kind="command", command=(sys.executable,))) == ""
    assert brain_trouble(BrainSettings()) == ""
