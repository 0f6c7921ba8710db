"""`hook`, as hosts call it: a process for each event, JSON in, an answer or nothing out, and 0 whatever happens.

The payloads have the fields that the documentation of each host names; each file says which page that is.
"""

import fcntl
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.scenarios.outside import Outside, at
from tests.warm import PATIENT, PATIENT_SECONDS, program
from vault_memory import VaultMemory
from vault_memory.addons.hosts import programs
from vault_memory.addons.hosts.hook_command import RECORD_LOCK, run
from vault_memory.addons.hosts.hook_events import CUT, MOST_CHARACTERS, length
from vault_memory.addons.hosts.host_transcripts import MOST_ANSWERS, Reply, read_replies
from vault_memory.cli import main
from vault_memory.config import state_file

PAYLOADS = Path(__file__).parent / "payloads"
HOSTS = ("claude-code", "codex")
MINE = "Users/mira/wren/config/USER.md"
RECALL = {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "true"}
NO_RECALL = {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "false"}


def replies(host: str, path: str) -> list[Reply]:
    return read_replies(programs.host(host), path, "s")


def payload(host: str, event: str, **changes: Any) -> dict[str, Any]:
    """What a host says, with some of it changed."""
    said = json.loads((PAYLOADS / f"{host}-{event}.json").read_text(encoding="utf-8"))["payload"]
    return {**said, **changes}


def hook(
    outside: Outside,
    host: str,
    said: object,
    *options: str,
    waits: float = PATIENT_SECONDS / 2,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """One call, which must end with 0.

    It has the time that a busy computer needs, and `waits` seconds for the process that goes on without it.
    """
    environment[PATIENT] = str(waits)
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    done = subprocess.run(
        [*program(), "hook", host, "--vault", str(outside.vault), "--user", "mira", *options],
        input=text,
        env=outside.environment | environment,
        cwd=outside.home,
        capture_output=True,
        timeout=2 * PATIENT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return subprocess.CompletedProcess(done.args, 0, done.stdout.decode(), done.stderr.decode())


def output_for(outside: Outside, host: str, said: object, *options: str, **environment: str) -> str:
    """What the host's model is given for an event."""
    done = hook(outside, host, said, *options, **environment)
    assert done.stderr == ""
    if not done.stdout:
        return ""
    printed = json.loads(done.stdout)
    assert printed.keys() <= {"hookSpecificOutput", "systemMessage"}
    answer = printed["hookSpecificOutput"]
    assert isinstance(said, dict)
    assert answer.keys() == {"hookEventName", "additionalContext"}
    assert answer["hookEventName"] == said["hook_event_name"]
    return str(answer["additionalContext"])


def turns(outside: Outside) -> list[dict[str, Any]]:
    """The recorded turns, without the one that a process is writing at this moment."""
    files = sorted(outside.vault.rglob("transcripts/*.jsonl"))
    lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


@pytest.fixture
def filled_vault(outside: Outside) -> Outside:
    outside.write(MINE, "# Mira\n\n- rows the heron boat\n")
    outside.write(
        "Users/mira/memories/boats.md", "- The heron boat got amber spar varnish, two coats\n"
    )
    outside.write("Users/tomas/wren/config/USER.md", "# Tomas\n\n- keeps the varnish secret\n")
    outside.quick = True
    outside.ok("index")
    return outside


@pytest.mark.smoke
@pytest.mark.parametrize("host", HOSTS)
def test_a_conversation_starts_with_the_memory_of_its_person(
    filled_vault: Outside, host: str
) -> None:
    text = output_for(filled_vault, host, payload(host, "session-start"))

    assert "rows the heron boat" in text
    assert "secret" not in text
    assert "amber" not in text
    assert turns(filled_vault) == []


def test_the_opencode_plugin_gets_the_memory_as_plain_text(filled_vault: Outside) -> None:
    given = hook(filled_vault, "opencode", payload("claude-code", "session-start")).stdout

    assert given.startswith("What stands between")
    assert "rows the heron boat" in given


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ('"I moved to Bergen"', "I moved to Bergen"),
        (' "I moved to Bergen"\n', "I moved to Bergen"),
        ('"I said \\"no\\" to Oslo"', 'I said "no" to Oslo'),
        ('"One line\nand another"', "One line\nand another"),
        ("“I moved to Bergen”", "I moved to Bergen"),
        ("„Ich wohne in Lübeck“", "Ich wohne in Lübeck"),
        ("«J’habite à Lyon»", "J’habite à Lyon"),
        ('"I moved" and "I stayed"', '"I moved" and "I stayed"'),
        ('He wrote: "I moved to Bergen"', 'He wrote: "I moved to Bergen"'),
        ('"I moved" he wrote', '"I moved" he wrote'),
        ('""', '""'),
        ('"', '"'),
        ("I moved to Bergen", "I moved to Bergen"),
    ],
)
def test_opencode_adds_one_pair_of_quotation_marks_which_is_not_recorded(
    filled_vault: Outside, prompt: str, text: str
) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s"}
    for host in ("opencode", "claude-code"):
        hook(filled_vault, host, {**event, "prompt": prompt, "session_id": host})

    recorded = {turn["session"]: turn["text"] for turn in turns(filled_vault)}
    assert recorded == {"opencode": text, "claude-code": prompt}


@pytest.mark.smoke
@pytest.mark.parametrize("host", HOSTS)
def test_a_prompt_is_recorded_and_answered_unless_recall_is_off(
    filled_vault: Outside, host: str
) -> None:
    said = payload(host, "user-prompt-submit")

    recalled = output_for(filled_vault, host, said)
    silent = output_for(filled_vault, host, {**said, "session_id": "other"}, **NO_RECALL)

    assert silent == ""
    assert "amber spar varnish" in recalled
    assert "rows the heron boat" not in recalled, "the beginning of the conversation gave that"
    assert "Which varnish" not in recalled, "the conversation itself is not recalled"
    assert [
        (turn["role"], turn["text"], turn["source"], turn["session"])
        for turn in turns(filled_vault)
        if turn["session"] != "other"
    ] == [("user", said["prompt"], host, said["session_id"])]


@pytest.mark.smoke
@pytest.mark.parametrize("host", HOSTS)
def test_two_entries_for_one_host_give_its_model_one_block_and_record_once(
    filled_vault: Outside, host: str
) -> None:
    start, said = payload(host, "session-start"), payload(host, "user-prompt-submit")

    blocks = [output_for(filled_vault, host, start) for _ in range(2)]
    others = [output_for(filled_vault, host, {**start, "session_id": "other"})]
    answers = [output_for(filled_vault, host, said, **RECALL) for _ in range(2)]

    assert "rows the heron boat" in blocks[0]
    assert blocks[1] == ""
    assert "rows the heron boat" in others[0]
    assert "amber spar varnish" in answers[0]
    assert answers[1] == ""
    assert len(turns(filled_vault)) == 1


@pytest.mark.parametrize("event", ["user-prompt-submit", "stop"])
def test_a_hook_that_hangs_while_it_records_keeps_no_other_from_it(
    filled_vault: Outside, event: str
) -> None:
    with state_file.lock(filled_vault.state / RECORD_LOCK):
        output_for(filled_vault, "claude-code", payload("claude-code", event))

    assert len(turns(filled_vault)) == 1


def test_two_entries_for_two_callers_get_an_answer_each(filled_vault: Outside) -> None:
    filled_vault.write("Channels/quay/CHANNEL.md", "# Quay\n\n- moors at the red buoy\n")
    start = payload("claude-code", "session-start")

    alone = output_for(filled_vault, "claude-code", start)
    in_room = output_for(filled_vault, "claude-code", start, "--channel", "quay")

    assert "rows the heron boat" in alone
    assert "red buoy" in in_room
    assert "rows the heron boat" not in in_room


def test_two_entries_record_a_prompt_without_an_id_once(filled_vault: Outside) -> None:
    said = payload("claude-code", "user-prompt-submit", prompt_id=None)

    for _ in range(2):
        output_for(filled_vault, "qwen-code", said)
    output_for(filled_vault, "qwen-code", {**said, "prompt": "And to the boat"})

    assert [turn["text"] for turn in turns(filled_vault)] == [said["prompt"], "And to the boat"]


def test_an_event_is_answered_again_later(filled_vault: Outside) -> None:
    start = payload("claude-code", "session-start")
    times = ("2026-03-01T10:00:00+00:00", "2026-03-01T10:00:30+00:00")

    blocks = [hook(filled_vault, "claude-code", start, "--now", now).stdout for now in times]

    assert all("rows the heron boat" in block for block in blocks)


@pytest.mark.parametrize("host", HOSTS)
def test_the_person_sees_how_many_memories_a_prompt_recalled(
    filled_vault: Outside, host: str
) -> None:
    done = hook(filled_vault, host, payload(host, "user-prompt-submit"))

    assert json.loads(done.stdout)["systemMessage"] == "recalled 1 memory"


@pytest.mark.parametrize("host", HOSTS)
def test_answers_are_recorded_once_before_compaction_discards_them(
    filled_vault: Outside, host: str
) -> None:
    transcript = str(PAYLOADS / f"{host}.jsonl")

    assert (
        output_for(filled_vault, host, payload(host, "pre-compact", transcript_path=transcript))
        == ""
    )
    assert (
        output_for(filled_vault, host, payload(host, "session-end", transcript_path=transcript))
        == ""
    )

    assert [(turn["role"], turn["text"], turn["ts"]) for turn in turns(filled_vault)] == [
        ("assistant", "It got amber spar varnish, two coats.", "2026-05-01T09:00:06.000Z"),
        ("assistant", "Fair winds to the heron boat.", "2026-05-01T09:01:02.000Z"),
    ]


LONG = (
    "I want to sail the heron boat around the island in June, and I need the right"
    " varnish for her deck before that."
)


def _talk(outside: Outside, host: str, *texts: str) -> None:
    for text in texts:
        said = payload(host, "user-prompt-submit") | {"prompt": text}
        output_for(outside, host, said, **NO_RECALL)


def _episodes(outside: Outside) -> str:
    files = sorted(outside.vault.rglob("memories/sessions/*.md"))
    return "".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOSTS)
def test_a_conversation_is_summed_up_before_its_host_compacts_it(
    filled_vault: Outside, host: str
) -> None:
    _talk(filled_vault, host, LONG, "Which varnish dries fastest?", LONG + " Soon.")

    assert output_for(filled_vault, host, payload(host, "pre-compact")) == ""
    first = _episodes(filled_vault)
    assert output_for(filled_vault, host, payload(host, "pre-compact")) == ""

    assert "sail the heron boat around the island" in first
    assert _episodes(filled_vault) == first
    _talk(filled_vault, host, "We decided to buy the amber varnish on Friday.")
    output_for(filled_vault, host, payload(host, "session-end"))
    assert _episodes(filled_vault).count("[episode]") == 1


def test_the_summary_that_a_host_sends_becomes_the_episode(filled_vault: Outside) -> None:
    _talk(filled_vault, "claude-code", LONG, "Which varnish?", LONG + " Soon.")
    summary = "Plans to sail around the island; amber varnish is chosen"
    event = payload("claude-code", "pre-compact") | {"compact_summary": summary}

    output_for(filled_vault, "claude-code", event)

    assert summary in _episodes(filled_vault)


def test_a_short_conversation_is_compacted_without_a_summary(filled_vault: Outside) -> None:
    output_for(filled_vault, "claude-code", payload("claude-code", "pre-compact"))
    _talk(filled_vault, "claude-code", "Which varnish?")
    output_for(filled_vault, "claude-code", payload("claude-code", "pre-compact"))

    assert _episodes(filled_vault) == ""


@pytest.mark.parametrize("host", HOSTS)
def test_an_answer_survives_a_host_killed_right_after_it(filled_vault: Outside, host: str) -> None:
    """A killed host calls neither PreCompact nor SessionEnd."""
    output_for(filled_vault, host, payload(host, "user-prompt-submit"))

    assert output_for(filled_vault, host, payload(host, "stop")) == ""

    assert [(turn["role"], turn["text"]) for turn in turns(filled_vault)] == [
        ("user", payload(host, "user-prompt-submit")["prompt"]),
        ("assistant", "It got amber spar varnish, two coats."),
    ]
    assert filled_vault.finds("amber spar varnish, two coats", "--user", "mira")


@pytest.mark.parametrize("host", HOSTS)
def test_an_answer_recorded_on_stop_is_not_recorded_again_from_the_transcript(
    filled_vault: Outside, host: str
) -> None:
    transcript = str(PAYLOADS / f"{host}.jsonl")

    for event in ("stop", "stop", "pre-compact", "session-end"):
        output_for(filled_vault, host, payload(host, event, transcript_path=transcript))

    assert sorted(turn["text"] for turn in turns(filled_vault)) == [
        "Fair winds to the heron boat.",
        "It got amber spar varnish, two coats.",
    ]


@pytest.mark.parametrize("named", ["by the hook alone", "by the transcript alone", "by nobody"])
def test_an_answer_is_recorded_once_however_its_turn_is_identified(
    filled_vault: Outside, tmp_path: Path, named: str
) -> None:
    """Versions of a host differ in what they name."""
    lines = (PAYLOADS / "codex.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    if named != "by the transcript alone":
        lines = [line for line in lines if "turn_context" not in line]
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(lines), encoding="utf-8")
    turn = payload("codex", "stop")["turn_id"] if named == "by the hook alone" else None

    output_for(filled_vault, "codex", payload("codex", "stop", turn_id=turn))
    output_for(
        filled_vault, "codex", payload("codex", "session-end", transcript_path=str(transcript))
    )

    assert sorted(turn["text"] for turn in turns(filled_vault)) == [
        "Fair winds to the heron boat.",
        "It got amber spar varnish, two coats.",
    ]


def test_identical_answers_in_two_turns_are_both_recorded(
    filled_vault: Outside, tmp_path: Path
) -> None:
    """The second answer had no event of its own: the host was killed, and the conversation went on later."""
    text = (PAYLOADS / "codex.jsonl").read_text(encoding="utf-8")
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(
        text.replace("Fair winds to the heron boat.", "It got amber spar varnish, two coats.")
    )

    output_for(filled_vault, "codex", payload("codex", "stop"))
    output_for(
        filled_vault, "codex", payload("codex", "session-end", transcript_path=str(transcript))
    )

    assert [turn["text"] for turn in turns(filled_vault)] == [
        "It got amber spar varnish, two coats."
    ] * 2


def test_an_answer_at_midnight_is_recorded_once(filled_vault: Outside, tmp_path: Path) -> None:
    """Its transcript has the time of the day before."""
    transcript = str(PAYLOADS / "codex.jsonl")

    output_for(
        filled_vault, "codex", payload("codex", "stop"), "--now", "2026-05-02T00:00:00.100+00:00"
    )
    output_for(filled_vault, "codex", payload("codex", "session-end", transcript_path=transcript))

    assert [turn["text"] for turn in turns(filled_vault)].count(
        "It got amber spar varnish, two coats."
    ) == 1


def test_a_gemini_cli_conversation_is_recorded_without_text_injected_by_hooks(
    filled_vault: Outside,
) -> None:
    """The payloads are those of Gemini CLI 0.61.0."""
    about = {
        "session_id": "34bc8c5b-62eb",
        "cwd": "/home/mira/boats",
        "timestamp": "2026-05-01T09:00:06.000Z",
    }
    prompt = "<hook_context>&lt;vault-memory&gt;\n- rows\n&lt;/vault-memory&gt;</hook_context>\n\nGood morning"
    answered = {
        "prompt": prompt,
        "prompt_response": "Good morning, Mira.",
        "stop_hook_active": False,
    }

    assert "rows the heron boat" in output_for(
        filled_vault, "gemini-cli", {**about, "hook_event_name": "SessionStart"}
    )
    output_for(
        filled_vault, "gemini-cli", {**about, "hook_event_name": "BeforeAgent", "prompt": prompt}
    )
    for _ in range(2):
        output_for(
            filled_vault, "gemini-cli", {**about, "hook_event_name": "AfterAgent", **answered}
        )

    assert [(turn["role"], turn["text"]) for turn in turns(filled_vault)] == [
        ("user", "Good morning"),
        ("assistant", "Good morning, Mira."),
    ]


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_a_turn_without_an_answer_records_nothing(
    filled_vault: Outside, answer: str | None
) -> None:
    assert (
        output_for(filled_vault, "codex", payload("codex", "stop", last_assistant_message=answer))
        == ""
    )
    assert turns(filled_vault) == []


def test_an_answer_is_recorded_while_another_process_empties_the_drop_folder(
    filled_vault: Outside,
) -> None:
    drop = filled_vault.state / "drop"
    drop.mkdir(mode=0o700, exist_ok=True)
    with (drop / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        output_for(filled_vault, "codex", payload("codex", "stop"))
        assert turns(filled_vault) == []

    output_for(filled_vault, "codex", payload("codex", "session-end", transcript_path=None))

    assert [turn["text"] for turn in turns(filled_vault)] == [
        "It got amber spar varnish, two coats."
    ]


def test_ending_a_conversation_ends_its_session(filled_vault: Outside) -> None:
    output_for(filled_vault, "codex", payload("codex", "user-prompt-submit"))
    output_for(filled_vault, "codex", payload("codex", "session-end", transcript_path=None))

    ended = list((filled_vault.state / "sessions").rglob("*.ended"))
    assert [json.loads(file.read_text())["session"] for file in ended] == [
        payload("codex", "session-end")["session_id"]
    ]
    assert not list((filled_vault.state / "sessions").rglob("*.open"))


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "/compact keep the boats"},
        {"prompt": "  \n"},
        {"prompt": "<task-notification>\n<task-id>1</task-id>"},
        {"agent_id": "a1", "agent_type": "Explore"},
        {"silent": True},
    ],
)
def test_a_prompt_not_typed_by_a_person_is_not_recorded(
    filled_vault: Outside, changes: dict[str, Any]
) -> None:
    assert (
        output_for(
            filled_vault,
            "claude-code",
            payload("claude-code", "user-prompt-submit", **changes),
            **RECALL,
        )
        == ""
    )
    assert turns(filled_vault) == []


def test_a_prompt_that_starts_with_a_path_is_not_a_slash_command(filled_vault: Outside) -> None:
    output_for(
        filled_vault,
        "codex",
        payload("codex", "user-prompt-submit", prompt="/var/log is full of \ud83d halves"),
    )

    assert [turn["text"] for turn in turns(filled_vault)] == ["/var/log is full of \ufffd halves"]


REPEATS: dict[str, tuple[list[tuple[str, dict[str, Any]]], list[str]]] = {
    "a prompt twice": ([("prompt", {}), ("prompt", {})], ["Good morning"]),
    "an answer twice": ([("prompt", {}), ("stop", {}), ("stop", {})], ["Good morning", "Hello"]),
    "an answer twice before any prompt": ([("stop", {}), ("stop", {})], ["Hello"]),
    "two answers, each twice": (
        [("prompt", {}), ("stop", {}), ("stop", {"last_assistant_message": "Bye"}), ("stop", {})],
        ["Good morning", "Hello", "Bye"],
    ),
    "the same prompt after an answer": (
        [("prompt", {}), ("stop", {}), ("prompt", {}), ("stop", {})],
        ["Good morning", "Hello"] * 2,
    ),
    "the same prompt after another one": (
        [("prompt", {}), ("prompt", {"prompt": "Tea?"}), ("prompt", {})],
        ["Good morning", "Tea?", "Good morning"],
    ),
    "the same prompt in two conversations": (
        [("prompt", {}), ("prompt", {"session_id": "other"}), ("prompt", {})],
        ["Good morning"] * 2,
    ),
    "the same prompt under two ids": (
        [("prompt", {"turn_id": "t1"}), ("prompt", {"turn_id": "t2"})],
        ["Good morning"] * 2,
    ),
    "the same prompt under one id": (
        [("prompt", {"turn_id": "t1"}), ("prompt", {"turn_id": "t1"})],
        ["Good morning"],
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("case", "options"),
    [*((case, ()) for case in REPEATS), ("two answers, each twice", ("--channel", "boats"))],
)
def test_an_event_that_a_host_reports_twice_is_recorded_once(
    filled_vault: Outside, case: str, options: tuple[str, ...]
) -> None:
    events, texts = REPEATS[case]
    common = {"session_id": "s1", "prompt": "Good morning", "last_assistant_message": "Hello"}
    names = {"prompt": "UserPromptSubmit", "stop": "Stop"}

    for name, changes in events:
        said = {"hook_event_name": names[name], **common, **changes}
        output_for(filled_vault, "claude-code", said, *options)

    assert [turn["text"] for turn in turns(filled_vault)] == texts


OVERLAPS = {
    "each in its order": "?a !a ?b !b",
    "the next prompt before the turn": "?a ?b !a !b",
    "the later turn first": "?a ?b !b !a",
    "a prompt again while its turn is on the way": "?a ?b !a ?a !b !a",
    "the same words in each turn": "?a !a ?a !a",
    "no prompt on its own": "!a !b !a",
}


@pytest.mark.sampled
@pytest.mark.parametrize("events", OVERLAPS.values(), ids=OVERLAPS)
def test_a_turn_handed_over_in_the_background_is_recorded_once(
    filled_vault: Outside, events: str
) -> None:
    for mark, prompt in events.split():
        name = {"?": "Recall", "!": "TurnEnd"}[mark]
        said = {"hook_event_name": name, "session_id": "s", "prompt": prompt, "reply": "Aye"}
        output_for(filled_vault, "hermes", said)

    handed_over = sorted(prompt for mark, prompt in events.split() if mark == "!")
    recorded = [(turn["role"], turn["text"]) for turn in turns(filled_vault)]
    assert sorted(text for role, text in recorded if role == "user") == handed_over
    assert recorded.count(("assistant", "Aye")) == len(handed_over)


def test_an_event_reported_twice_around_midnight_is_recorded_once(filled_vault: Outside) -> None:
    said = {"session_id": "s1", "prompt": "Good night", "last_assistant_message": "Bye"}
    for name in ("UserPromptSubmit", "Stop"):
        for moment in ("2026-05-01T23:59:59.900+00:00", "2026-05-02T00:00:00.100+00:00"):
            event = {"hook_event_name": name, **said}
            output_for(filled_vault, "claude-code", event, "--now", moment)

    assert [turn["text"] for turn in turns(filled_vault)] == ["Good night", "Bye"]


def test_two_hooks_that_a_host_runs_at_once_record_one_turn(filled_vault: Outside) -> None:
    said = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Tea?"})
    words = ["hook", "claude-code", "--vault", str(filled_vault.vault), "--user", "mira"]
    processes = [
        subprocess.Popen(
            [*program(), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=filled_vault.environment,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(said.encode())
        process.stdin.close()
    assert [process.wait(120) for process in processes] == [0] * 4

    with VaultMemory.open(filled_vault.vault, environment=filled_vault.environment) as memory:
        recorded = memory.conversations.transcripts.of("user:mira")
    assert [turn.text for turn in recorded] == ["Tea?"]


def test_a_prompt_gets_the_relevant_lines_of_a_long_memory(filled_vault: Outside) -> None:
    boxes = "".join(f"- Box {number} holds nails and a rope\n" for number in range(400))
    filled_vault.write(
        "groups/crew/MEMORY.md",
        f"# Crew\n\n{boxes}\n## Lighthouse\n\n- The lamp burns whale oil on Sundays\n",
    )
    prompt = "What does the lamp of the lighthouse burn on Sundays?"
    event = payload("claude-code", "user-prompt-submit", prompt=prompt)

    text = output_for(filled_vault, "claude-code", event, "--group", "crew", **RECALL)
    start = output_for(
        filled_vault, "claude-code", payload("claude-code", "session-start"), "--group", "crew"
    )

    assert "Lighthouse] - The lamp burns whale oil on Sundays" in text
    assert "rows the heron boat" not in text
    assert "Box 1 holds" in start
    assert length(start) <= MOST_CHARACTERS


def test_a_channel_gets_only_the_memory_of_the_channel(filled_vault: Outside) -> None:
    filled_vault.write("Channels/harbour/CHANNEL.md", "# Harbour\n\n- the buoy is green\n")

    text = output_for(
        filled_vault, "codex", payload("codex", "session-start"), "--channel", "harbour"
    )
    output_for(filled_vault, "codex", payload("codex", "user-prompt-submit"), "--channel=harbour")

    assert "the buoy is green" in text
    assert [turn["channel"] for turn in turns(filled_vault)] == ["harbour"]


@pytest.mark.parametrize("line", ["- a line of memory, number {}", '- „{}“ "quoted" \\ \U0001f6a3'])
def test_the_answer_fits_the_hosts_limit_and_is_cut_between_lines(
    filled_vault: Outside, line: str
) -> None:
    filled_vault.write(
        MINE, "# Mira\n\n" + "".join(line.format(number) + "\n" for number in range(2000))
    )

    done = hook(filled_vault, "claude-code", payload("claude-code", "session-start"))
    text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]

    assert 8_000 < length(done.stdout) <= MOST_CHARACTERS
    *head, cut, closing = text.split("\n")
    assert cut == CUT
    assert closing.startswith("</")
    assert head[-1] == line.format(len(head) - head.index(line.format(0)) - 1)


def test_a_running_daemon_answers_the_hook(filled_vault: Outside) -> None:
    with filled_vault.daemon(MEMORY_SEARCH_AUTO_RECALL="true"):
        text = output_for(filled_vault, "codex", payload("codex", "session-start"))
        recalled = output_for(
            filled_vault, "codex", payload("codex", "user-prompt-submit"), **RECALL
        )

    assert "rows the heron boat" in text
    assert "amber spar varnish" in recalled


# ---- trouble -------------------------------------------------------------------------------------------------------


@pytest.fixture
def failing_hook(
    filled_vault: Outside, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """The one line that says why there is no answer. In this process, which saves its start."""

    def run_hook(host: str, said: object, *options: str, **environment: str) -> str:
        for name, value in (filled_vault.environment | environment).items():
            monkeypatch.setenv(name, value)
        raw = said if isinstance(said, bytes) else json.dumps(said).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        capfd.readouterr()
        assert run([host, "--vault", str(filled_vault.vault), "--user", "mira", *options]) == 0
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return err

    return run_hook


Broken = Callable[..., str]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[" * 200_000, "no JSON"),
        (b"\xff\xfe{", "no JSON"),
        ([], "no JSON object"),
        ({}, "no event"),
        ({"hook_event_name": "Notification", "session_id": "s"}, "'Notification' is no event"),
        ({"hook_event_name": "SessionStart"}, "`session_id` names no session"),
        (
            {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": 7},
            "`prompt` is no text",
        ),
        (b" " * ((8 << 20) + 1), "more than 8,388,608 bytes"),
    ],
)
def test_an_invalid_payload_produces_no_output_and_a_logged_reason(
    filled_vault: Outside, failing_hook: Broken, said: object, why: str
) -> None:
    assert why in failing_hook("claude-code", said)
    assert turns(filled_vault) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("host", "options", "environment", "why"),
    [
        ("claude-code", ("--vault", "/nowhere/at/all"), {}, "vault_unreachable"),
        ("claude-code", ("--config", "/nowhere.toml"), {}, "does not exist"),
        ("claude-code", ("--user", "../tomas"), {}, "usage_error"),
        ("claude-code", ("--colour",), {}, "knows no option"),
        ("claude-code", ("--user",), {}, "needs a value"),
        ("claude-code", ("codex",), {}, "takes one host"),
        ("emacs", (), {}, "calls no hooks"),
        ("claude-code", (), {"VAULT_MEMORY_RECALL_MODE": "psychic"}, "config_error"),
    ],
)
def test_a_wrong_setup_never_stops_the_host(
    failing_hook: Broken, host: str, options: tuple[str, ...], environment: dict[str, str], why: str
) -> None:
    assert why in failing_hook(
        host, payload("claude-code", "user-prompt-submit"), *options, **environment
    )


def test_a_failing_hook_process_exits_quickly_without_output(filled_vault: Outside) -> None:
    started = time.monotonic()

    done = hook(filled_vault, "codex", payload("codex", "session-start"), "--user", "")

    assert done.stdout == ""
    assert "whom it serves" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    "words",
    [
        ["--vault", "", "hook"],
        ["hook"],
        ["--quiet", "hook", "codex", "--user"],
        ["--now", "never", "hook", "x"],
    ],
)
def test_an_invalid_command_line_still_exits_with_0(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))

    with pytest.raises(SystemExit) as ended:
        main(words)

    out, err = capfd.readouterr()
    assert (ended.value.code, out) == (0, "")
    assert err.startswith("vault-memory: ")


def test_a_locked_or_damaged_index_produces_no_output_and_loses_no_prompt(
    filled_vault: Outside,
) -> None:
    for file in (filled_vault.state / "index").iterdir():
        file.write_bytes(b"not a database" * 1000)

    hook(filled_vault, "codex", payload("codex", "user-prompt-submit"))

    assert [turn["text"] for turn in turns(filled_vault)] == [
        payload("codex", "user-prompt-submit")["prompt"]
    ]


def test_a_host_that_sends_no_payload_is_not_waited_for(filled_vault: Outside) -> None:
    script = "import sys; from vault_memory.addons.hosts.hook_command import run; run(sys.argv[1:], seconds=0.5)"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            script,
            "codex",
            "--vault",
            str(filled_vault.vault),
            "--user",
            "mira",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=filled_vault.environment,
        text=True,
    )
    with process:
        code = process.wait(120)
        assert process.stdout is not None
        assert process.stderr is not None
        assert (code, process.stdout.read()) == (0, "")
        assert "no answer within 0.5 seconds" in process.stderr.read()


def test_a_prompt_is_recorded_even_if_recall_times_out(filled_vault: Outside) -> None:
    """A daemon that has been stopped takes the question and never answers."""
    script = "import sys; from vault_memory.addons.hosts.hook_command import run; run(sys.argv[1:], seconds=2, patience=60)"
    said = payload("codex", "user-prompt-submit")
    with filled_vault.daemon() as running:
        running.freeze()
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                script,
                "codex",
                "--vault",
                str(filled_vault.vault),
                "--user",
                "mira",
            ],
            input=json.dumps(said),
            env=filled_vault.environment | RECALL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        running.kill()

    assert (done.returncode, done.stdout) == (0, "")
    assert "no answer within 2 seconds" in done.stderr
    output_for(
        filled_vault,
        "codex",
        payload("codex", "session-end", transcript_path=str(PAYLOADS / "codex.jsonl")),
    )
    assert [turn["text"] for turn in turns(filled_vault)].count(said["prompt"]) == 1


def test_the_state_folder_logs_the_reason_but_never_the_conversation(
    filled_vault: Outside, failing_hook: Broken
) -> None:
    said = payload("codex", "user-prompt-submit", prompt="swordfish")
    failing_hook("codex", said, "--user", "../tomas")
    failing_hook("codex", b"swordfish")

    own, common = (filled_vault.state / "hook.log", filled_vault.state.parent / "hook.log")
    assert (
        "codex UserPromptSubmit: usage_error: '../tomas' cannot be the name of a user"
        in own.read_text()
    )
    assert "codex -: not_an_event: what came on standard input is no JSON" in common.read_text()
    assert "swordfish" not in own.read_text() + common.read_text()
    assert own.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "kind", ["link", "folder", "fifo", "relative", "other ending", "gone", "/dev/zero"]
)
def test_only_a_regular_jsonl_file_is_read_as_a_transcript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.jsonl"
    text = (PAYLOADS / "codex.jsonl").read_bytes()
    path.write_bytes(text)
    assert replies("codex", str(path))
    if kind == "link":
        path.rename(tmp_path / "real.jsonl")
        path.symlink_to(tmp_path / "real.jsonl")
    elif kind in ("folder", "fifo", "gone"):
        path.unlink()
        {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "gone": lambda: None}[kind]()
    elif kind == "other ending":
        path = path.rename(tmp_path / "t.txt")

    assert (
        replies("codex", {"relative": "t.jsonl", "/dev/zero": "/dev/zero"}.get(kind, str(path)))
        == []
    )


@given(
    st.lists(
        st.sampled_from((PAYLOADS / "claude-code.jsonl").read_bytes().splitlines())
        | st.binary(max_size=40)
    )
)
@settings(max_examples=60)
@example(
    [
        b'{"type": "assistant", "message": []}',
        b'{"type": "user", "message": {"role": "user", "content": [7]}}',
    ]
)
def test_any_transcript_is_read_without_an_error(lines: list[bytes]) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(b"\n".join(lines))
        file.flush()

        found = replies("claude-code", file.name)

    assert all(reply.text.strip() and "subagent" not in reply.text for reply in found)


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    pair = [
        line
        for line in (PAYLOADS / "claude-code.jsonl").read_bytes().splitlines()
        if line.startswith(b"{")
    ][-2:]
    path.write_bytes(b"\n".join(pair * 9000))

    assert len(replies("claude-code", str(path))) == MOST_ANSWERS


def test_a_hook_loads_no_heavy_modules(filled_vault: Outside) -> None:
    """The figure itself is measured by the benchmarks; here only that nothing heavy is loaded."""
    script = (
        "import sys\nfrom vault_memory.addons.hosts.hook_command import run\n"
        "run(sys.argv[2:])\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            "hook",
            "codex",
            "--vault",
            str(filled_vault.vault),
            "--user",
            "mira",
        ],
        input=json.dumps(payload("codex", "session-start")),
        env=filled_vault.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "rows the heron boat" in done.stdout
    assert not {"rich", "numpy", "onnxruntime", "mcp", "pydantic", "requests", "markdown_it"} & set(
        done.stderr.split()
    )


def test_the_hook_command_has_a_help_text(tmp_path: Path) -> None:
    outside = at(tmp_path)
    outside.vault.mkdir(parents=True, exist_ok=True)

    done = outside.bare("hook", "--help")

    assert done.code == 0
    assert "SessionStart" in done.out


def test_doctor_reports_a_hook_that_failed(filled_vault: Outside, failing_hook: Broken) -> None:
    assert not [check for check in filled_vault.ok("doctor")["checks"] if check["name"] == "hooks"]
    said = payload("codex", "user-prompt-submit")
    failing_hook("codex", said, "--user", "../tomas")

    [check] = [check for check in filled_vault.ok("doctor")["checks"] if check["name"] == "hooks"]

    assert check["state"] == "warn"
    assert "'../tomas' cannot be the name of a user" in check["reason"]
    assert str(filled_vault.state / "hook.log") in check["fix"]


@pytest.mark.parametrize("host", HOSTS)
def test_an_automated_job_in_a_host_is_not_recorded_as_the_person(filled_vault: Outside, host: str):
    prompt = payload(host, "user-prompt-submit", prompt="I live in Paris")

    hook(filled_vault, host, prompt, VAULT_MEMORY_AUTOMATED="1")
    hook(filled_vault, host, prompt, VAULT_MEMORY_AUTOMATED="0")
    hook(filled_vault, host, {**prompt, "automated": True})

    assert [turn.get("automated", False) for turn in turns(filled_vault)] == [True, False, True]
