"""What was said and is a secret is quoted for no model, by none of the tools that read and in no block."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.http.served import MIRA, serving
from tests.learning.quiet_vault import quiet_vault
from tests.mcp.vaults import ALICE, call, words
from vault_memory import VaultMemory
from vault_memory.rules.learning.policy.secret_signs import MASK

NOW = datetime(2026, 5, 25, 12, 0, tzinfo=UTC)
SECRETS = {
    "My wifi password is quayfish": "quayfish",
    "Merk dir, dass mein Passwort quayfish ist": "quayfish",
    "Recuerda mi contraseña: quayfish": "quayfish",
    "Запомни пароль quayfish": "quayfish",
    "记住密码quayfish": "quayfish",
    "mon mot de passe est quayfish": "quayfish",
    "The IBAN of the wifi landlord is DE89 3704 0044 0532 0130 00": "3704",
    "the wifi log is at postgres://keeper:quayfish@db.example/log": "quayfish",
    "For the wifi portal take sk-live_abcdefghij0123456789": "abcdefghij",
    "my wifi card is 4111 1111 1111 1111": "1111",
    "My PIN for the wifi shop is 4417": "4417",
    "the wifi key\n-----BEGIN RSA PRIVATE KEY-----\nMIIEquayfishowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----": "quayfish",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[VaultMemory]:
    """A vault whose transcripts have what was said, word for word."""
    settings = {"VAULT_MEMORY_TRANSCRIPTS_MASK_SECRETS": "false"}
    with quiet_vault(tmp_path, **settings) as vault:
        yield vault


@pytest.mark.sampled
@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_that_was_said_is_quoted_for_no_model(
    memory: VaultMemory, tmp_path: Path, text: str
) -> None:
    secret = SECRETS[text]
    said = memory.record_turn(
        session="s",
        role="user",
        user="alice",
        text=f"The router stands in the hall. {text}",
        now=NOW,
    )
    memory.record_turn(
        session="s",
        role="assistant",
        user="alice",
        text=f"Noted: the router of the hall. {text}",
        now=NOW,
    )

    block = memory.context(
        "where does the router stand, in the hall?", scopes=["user:alice"], session="other", now=NOW
    )
    answers = [
        words(call(memory, "memory_search", query="router hall wifi password quayfish")),
        words(call(memory, "memory_source", ref=said.id)),
        words(call(memory, "memory_get", note=said.note)),
        words(call(memory, "memory_context", prompt="where is the router of the hall?")),
        words(call(memory, "memory_entity", name="router")),
    ]

    with serving(memory, {MIRA: ALICE}) as served:
        client = served.client()
        asked = {"query": "router hall wifi password quayfish"}
        found = client.post("/v1/search", json=asked).json()["hits"]
        told = client.get("/v1/source", params={"ref": said.id}).text
        read = client.get(f"/v1/notes/{quote(said.note or '')}").text
    export = tmp_path / "dump.jsonl"
    memory.transfer.export(str(export), scopes=["user:alice"])

    assert found
    assert "router" in told
    assert "router" in read
    answers += [str(found), told, read, export.read_text("utf-8")]
    assert secret not in block.text
    assert [answer for answer in answers if secret in answer] == []
    assert "router" in answers[1]
    assert MASK in answers[1]


def test_the_person_finds_the_own_words(memory: VaultMemory) -> None:
    memory.record_turn(session="s", role="user", user="alice", text="My PIN is 4417", now=NOW)

    [hit] = memory.search("PIN", scopes=ALICE.reads(memory.layout)).hits

    assert "4417" in hit.text


def test_what_only_speaks_of_a_secret_is_quoted(memory: VaultMemory) -> None:
    memory.record_turn(
        session="s",
        role="user",
        user="alice",
        text="The wifi password is in the safe of the hall",
        now=NOW,
    )

    found = words(call(memory, "memory_search", query="wifi password"))

    assert "in the safe" in found
