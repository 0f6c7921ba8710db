"""A transcript has no secret that was said, and all else that was."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.every import every
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.learning.policy.secret_signs import MASK, is_same

NOON = datetime(2026, 4, 6, 12, 0, tzinfo=UTC)
TOLD = [
    "My password is quayfish.",
    "Merk dir, dass mein Passwort quayfish ist.",
    "Recuerda mi contraseña: quayfish.",
    "Retiens que mon mot de passe est quayfish.",
    "Запомни пароль quayfish.",
    "记住密码quayfish。",
    "Use postgres://mira:quayfish@db.example.org/notes today.",
]
"""Secrets in six languages, and one within an address"""


@pytest.fixture
def memory(outside: Outside) -> Iterator[VaultMemory]:
    outside.write("Users/alice/lantern/config/USER.md", "## Tea\n\n- green\n")
    with VaultMemory.open(outside.vault, environment=outside.environment) as opened:
        opened.index()
        yield opened


def say(memory: VaultMemory, text: str, minutes: int = 0, **said: str) -> str | None:
    asked = {"session": "s", "role": "user", "user": "alice"} | said
    return memory.record_turn(text=text, now=NOON + timedelta(minutes=minutes), **asked).id  # type: ignore[arg-type]


def written(outside: Outside) -> list[dict[str, str]]:
    files = sorted(outside.vault.rglob("*.jsonl"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.sampled
@pytest.mark.parametrize("secret", TOLD)
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_secret_that_is_said_is_not_written(
    outside: Outside, memory: VaultMemory, secret: str, role: str
):
    id_ = say(memory, f"I was at the quay. {secret} The heron is back.", role=role)

    [turn] = written(outside)
    assert "quayfish" not in turn["text"]
    assert turn["text"].startswith("I was at the quay.")
    assert turn["text"].endswith("The heron is back.")
    assert (turn["id"], turn["role"]) == (id_, role)


def test_other_turns_keep_order_ids_and_words(outside: Outside, memory: VaultMemory):
    ids = [
        say(memory, text, minutes)
        for minutes, text in enumerate(["The heron is back.", TOLD[0], "It fishes at the quay."])
    ]

    turns = written(outside)
    assert [turn["id"] for turn in turns] == ids
    assert [turn["text"] for turn in turns] == [
        "The heron is back.",
        MASK,
        "It fishes at the quay.",
    ]
    found = memory.search("heron", scopes=["user:alice"]).hits
    assert "The heron is back." in found[0].text
    found = memory.search("quayfish", scopes=["user:alice"]).hits
    assert not [hit for hit in found if "quayfish" in hit.text]


def test_what_another_program_drops_has_no_secret(outside: Outside, memory: VaultMemory):
    line = {
        "session": "s",
        "role": "user",
        "user": "alice",
        "source": "voice",
        "ts": NOON.isoformat(),
        "text": TOLD[0],
    }
    folder = memory.conversations.drop_folder.make()
    (folder / "a.jsonl").write_text(json.dumps(line) + "\n", "utf-8")

    memory.conversations.take_dropped()

    assert [turn["text"] for turn in written(outside)] == [MASK]


def test_a_person_may_keep_secrets_in_transcripts(outside: Outside):
    outside.write("Users/alice/lantern/config/USER.md", "## Tea\n\n- green\n")
    environment = outside.environment | {"VAULT_MEMORY_TRANSCRIPTS_MASK_SECRETS": "false"}
    with VaultMemory.open(outside.vault, environment=environment) as memory:
        say(memory, TOLD[0])

    assert [turn["text"] for turn in written(outside)] == [TOLD[0]]


def test_a_wrong_table_of_phrases_keeps_no_words_from_being_recorded(
    outside: Outside, memory: VaultMemory
):
    folder = memory.vault.state.path / "phrases"
    folder.mkdir()
    (folder / "own.toml").write_text("[policy]\ncrisis = 'x'\n", "utf-8")

    say(memory, f"The heron is back. {TOLD[0]}")

    assert [turn["text"] for turn in written(outside)] == [f"The heron is back. {MASK}"]


def test_words_of_an_own_table_tell_secrets_too(outside: Outside, memory: VaultMemory):
    folder = memory.vault.state.path / "phrases"
    folder.mkdir()
    (folder / "own.toml").write_text('[policy]\nsecret = ["sesam"]\n', "utf-8")

    say(memory, "My sesam is quayfish.")

    assert [turn["text"] for turn in written(outside)] == [MASK]


@every(
    ("recorded", "text", "same"),
    [
        ("The heron", "The heron", True),
        ("The heron", "The heron is back", False),
        (f"Hi. {MASK} Bye.", "Hi. My password is quayfish. Bye.", True),
        (f"Hi. {MASK} Bye.", "Hi. My password is quayfish. Good night.", False),
        (f"{MASK} Hi. {MASK}", "My pin is 4417. Hi. My password is quayfish.", True),
        (f"ab{MASK}ba", "aba", False),
    ],
)
def test_a_masked_turn_is_compared_by_its_other_words(recorded: str, text: str, same: bool):
    assert is_same(recorded, text) == same
