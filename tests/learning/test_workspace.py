"""Nights of other layouts, odd names, and much that was said."""

import json
import time
from pathlib import Path

import pytest

from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory.learning.vault_map import VaultMap
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.paths.scope_notes import places_of
from vault_memory.vault.reader import Folder


def test_in_a_workspace_the_night_writes_beside_the_existing_notes(outside: Outside):
    outside.quick = True
    outside.settings |= {"VAULT_MEMORY_SLEEP_CYCLE_ZONE": "UTC"}
    outside.write("USER.md", "## About\n\n- Keeps a boat\n")
    outside.write("MEMORY.md", "## House\n\n- The key is in the tin\n")
    outside.ok(
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "main",
        "--now",
        "2026-05-25T18:00+00:00",
        "I am allergic to mackerel since I was a child.",
    )

    [out] = outside.ok("sleep", "--now", "2026-05-26T02:05+00:00")["scopes"]

    assert (out["scope"], out["gathered"], out["memories"], out["facts"]) == ("user:main", 1, 1, 1)
    assert "mackerel" in (outside.vault / "memory/2026-05-25.md").read_text()
    assert "allergic_to: mackerel" in (outside.vault / "USER.FACTS.md").read_text()
    assert outside.finds("mackerel")


def test_a_new_person_gets_notes_where_others_have_theirs(outside: Outside):
    outside.quick = True
    outside.write("Users/ann/lantern/config/USER.md", "## About\n\n- Ann\n")
    outside.ok(
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "李",
        "I am allergic to mackerel since I was a child.",
    )

    out = {one["scope"]: one for one in outside.ok("sleep")["scopes"]}

    assert out["user:李"]["facts"] == 1
    assert "mackerel" in (outside.vault / "Users/李/lantern/config/FACTS.md").read_text()


@every(
    ("paths", "scopes"),
    [
        ([], []),
        (["USER.md"], ["user:main"]),
        (["transcripts/2026-05-25.jsonl"], ["user:main"]),
        (["Channels/a/CHANNEL.md"], []),
        (["Channels/a/transcripts/2026-05-25.jsonl"], ["channel:a"]),
        (
            ["Users/ann/memories/a.md", "Users/bob/transcripts/2026-05-25.jsonl"],
            ["user:ann", "user:bob"],
        ),
        (["notes.md", "groups/g/MEMORY.md"], []),
        (
            [
                "Users/ben/memories/a.md",
                "Users/ann/transcripts/2026-01-01.jsonl",
                "Channels/h/transcripts/2026-01-01.jsonl",
                "Channels/quiet/CHANNEL.md",
                "elsewhere.txt",
            ],
            ["channel:h", "user:ann", "user:ben"],
        ),
    ],
)
def test_every_person_and_every_channel_with_turns_has_nights(tmp_path: Path, paths, scopes):
    vault = tmp_path / str(len(list(tmp_path.iterdir())))
    vault.mkdir()
    for path in paths:
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).touch()

    folder = Folder(vault, needs_marker=False)
    assert sorted(VaultMap(folder, Layout()).scopes()) == scopes


def test_two_scopes_never_share_a_note():
    paths = [
        "Users/ann/b/config/USER.md",
        "Users/anna/b/config/FACTS.md",
        "Channels/ann/CHANNEL.md",
    ]
    layout = Layout()

    for scope in ("user:ann", "user:anna", "channel:ann", "group:ann", "user:new"):
        places = places_of(scope, paths, layout)
        for path in (places.profile, places.facts, places.rules, f"{places.notes}2026-05-25.md"):
            assert not path or layout.place(path).scope == scope, path


PASSES = 400
"""Of reading the JSON of all turns; about 160 are needed"""


@pytest.mark.sampled
def test_two_thousand_turns_of_one_day_are_gathered_in_few_passes_over_their_file(outside: Outside):
    from vault_memory.api.vault_memory import VaultMemory
    from vault_memory.learning.unread_turns import gather
    from vault_memory.rules.learning.extraction import read_answer

    usual = {"user": "ann", "channel": "", "origin": "owner", "source": "talk"}
    turns = [
        usual
        | {"id": f"t{number}", "ts": f"2026-05-25T{number // 100:02}:{number % 60:02}:00+00:00"}
        | {"session": f"s{number % 40}", "role": ("user", "assistant")[number % 2]}
        | {
            "text": f"This is what was said as number {number}, in a sentence or two of the usual length. "
            * 3
        }
        for number in range(2000)
    ]
    lines = [json.dumps(one) for one in turns]
    outside.write("Users/ann/transcripts/2026-05-25.jsonl", "\n".join(lines) + "\n")
    answer = json.dumps(
        {
            "memories": [
                {
                    "text": f"Memory {n}",
                    "type": "context",
                    "topic": "work",
                    "evidence": [f"t{2 * n}"],
                }
                for n in range(100)
            ],
            "facts": [],
            "topics": {},
            "ops": [],
        }
    )
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        began = time.process_time()
        for _ in range(PASSES // 10):
            assert len(list(map(json.loads, lines))) == len(turns)
        limit = 10 * (time.process_time() - began)
        began = time.process_time()
        waiting = memory.conversations.transcripts.of("user:ann")
        first = gather(waiting, user="ann")
        found, gathered, questions = read_answer(answer, first.evidence), first, 1
        while gathered.more:
            waiting = waiting[len(gathered.turns) :]
            gathered, questions = gather(waiting, user="ann"), questions + 1
        spent = time.process_time() - began

    assert questions < 15
    assert found.memories
    assert spent < limit
