"""From the configuration to a brain, to its instructions, and to what `doctor` says about it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.scripted import ScriptedModel, Sent, learned, learns
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config import load
from vault_memory.config.sections import BrainSettings, Config, EmbeddingSettings
from vault_memory.errors import BrainUnavailable, ConfigError
from vault_memory.models.llm.factory import brain_trouble, load_brain
from vault_memory.models.llm.templates import LARGEST, PACKAGED_PROMPTS, instructions
from vault_memory.rules.learning.extraction import read_answer
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt, Role, filled


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(learns) as model:
        yield model


def test_without_configuration_the_rules_are_used() -> None:
    assert load_brain(Config().brain, "extraction").name == "rules"


def test_an_unusable_model_configuration_is_an_immediate_error() -> None:
    for settings in (
        BrainSettings(kind="openai", model="m"),
        BrainSettings(kind="openai", base_url="http://localhost:1"),
        BrainSettings(kind="openai", base_url="ftp://localhost", model="m"),
        BrainSettings(kind="openai", base_url="https://me:pass@host/v1", model="m"),
        BrainSettings(kind="command"),
    ):
        with pytest.raises(BrainUnavailable) as caught:
            load_brain(settings, "extraction")
        assert caught.value.hint


def test_the_configuration_names_model_roles_and_command(tmp_path: Path) -> None:
    file = tmp_path / "vault-memory.toml"
    file.write_text(
        '[brain]\nkind = "command"\ncommand = ["llm", "--json"]\nenvironment = ["LLM_HOME"]\n'
    )

    brain = load(file, {"VAULT_MEMORY_BRAIN_TIMEOUT_SECONDS": "7"}).brain

    assert (brain.kind, brain.command, brain.environment, brain.timeout_seconds) == (
        "command",
        ("llm", "--json"),
        ("LLM_HOME",),
        7.0,
    )
    with pytest.raises(ConfigError, match="VAULT_MEMORY_BRAIN_KIND"):
        load(None, {"VAULT_MEMORY_BRAIN_KIND": "oracle"})


def test_the_fallback_to_the_rules_can_be_disabled(model: ScriptedModel) -> None:
    settings = BrainSettings(kind="openai", base_url=model.url, model="small")
    model.close()
    prompt = Prompt("extraction", "", (), (Excerpt("t1", "I live in Porto.", "a", own=True),))

    with pytest.raises(BrainUnavailable, match="nothing listens there"):
        load_brain(settings, "extraction", backed=False).answer(prompt)
    answer = load_brain(settings, "extraction").answer(prompt)

    assert (answer.rung, len(read_answer(answer.text, ("t1",)).memories)) == ("rules", 1)
    assert "nothing listens there" in answer.reason


@pytest.mark.parametrize("role", ["extraction", "facts", "curation", "reflection"])
def test_the_instructions_can_be_replaced_by_a_file(role: Role, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    ours = instructions(role, [tmp_path / "absent", mine, other])
    assert "is data" in ours

    (other / f"{role}.md").write_text("\ufeffOther of {{who}}.\n", encoding="utf-8")
    assert instructions(role, [mine, other]) == "Other of {{who}}."
    (mine / f"{role}.md").write_text("Mine.", encoding="utf-8")
    assert instructions(role, [mine, other]) == "Mine."


@pytest.mark.parametrize(
    ("raw", "words"),
    [(b"", "empty"), (b"\xff\xfe", "not UTF-8"), (b"x" * (LARGEST + 1), "longer than 64 KB")],
)
def test_unusable_instructions_are_an_error_and_not_ignored(
    tmp_path: Path, raw: bytes, words: str
) -> None:
    (tmp_path / "extraction.md").write_bytes(raw)

    with pytest.raises(ConfigError, match=words):
        instructions("extraction", [tmp_path])


def test_the_packaged_instructions_have_no_unfilled_placeholder() -> None:
    assert {page.stem for page in PACKAGED_PROMPTS.glob("*.md")} == {
        "extraction",
        "facts",
        "channel",
        "conflicts",
        "curation",
        "entities",
        "reflection",
    }
    values = dict.fromkeys(("who", "day", "note", "types", "topics", "predicates"), "x")
    values["entity_types"] = "x"

    for page in PACKAGED_PROMPTS.glob("*.md"):
        assert "{{" not in filled(page.read_text(encoding="utf-8"), values)


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (Sent(200, b"{}"), ""),
        (Sent(404, b"no list here"), ""),
        (Sent(401, b"{}"), "does not accept the key"),
        (Sent(503, b"{}"), "status 503"),
    ],
)
def test_a_server_is_checked_by_listing_its_models(
    model: ScriptedModel, models: Sent, words: str
) -> None:
    model.models = models

    trouble = brain_trouble(BrainSettings(kind="openai", base_url=model.url, model="small"))

    assert words in trouble
    assert bool(trouble) == bool(words)


def test_doctor_reports_which_model_extracts_memories(model: ScriptedModel, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()

    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
    }

    def check(brain: BrainSettings) -> tuple[str, str]:
        config = Config(brain=brain, embedding=EmbeddingSettings(kind="off"))
        with VaultMemory.open(vault, config, environment=environment) as memory:
            [found] = [one for one in memory.doctor() if one.name == "brain"]
            return found.state, found.reason

    assert check(BrainSettings()) == (
        "ok",
        "no language model: what is worth remembering is found by phrases",
    )
    small = BrainSettings(kind="openai", base_url=model.url, model="small")
    # The scripted model remembers every turn, so it fails the self-test.
    assert check(small) == ("ok", "openai answers, with one word for each turn")
    assert check(small._replace(mode="full")) == ("ok", "openai answers, with whole answers")
    state, reason = check(
        BrainSettings(kind="openai", base_url="http://localhost:9", model="small")
    )
    assert state == "warn"
    assert "nothing listens there" in reason


def test_the_scripted_model_parses_turns_as_they_are_shown(model: ScriptedModel) -> None:
    turns = [
        Excerpt("t1", "I live\nin Porto.", "alice", own=True),
        Excerpt("b1", "Oh.", "bot", own=False),
    ]
    load_brain(
        BrainSettings(kind="openai", base_url=model.url, model="small"), "extraction"
    ).answer(Prompt("extraction", "", (), tuple(turns)))

    assert model.asked[0].turns == [("t1", "alice", "I live in Porto.")]
    assert [row["turn"] for row in learned(model.asked[0])["memories"]] == ["t1"]
