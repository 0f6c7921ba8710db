"""A search without a daemon uses the vectors that exist, or says why it does not."""

import pytest

from tests.models.conftest import ScriptedServer, says
from tests.scenarios.outside import Outside
from vault_memory.models.embedding.packaged import MINILM_WEIGHTS, installed


@pytest.fixture
def vault(outside: Outside) -> Outside:
    if installed(MINILM_WEIGHTS) is None:
        pytest.skip("the package with the weights is not installed")
    outside.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "auto"
    outside.write("memory/a.md", "- The veterinarian vaccinated both kittens\n")
    outside.write("memory/b.md", "- The roof of the shed was tarred in May\n")
    return outside


def test_a_plain_search_finds_by_meaning_when_there_are_vectors(vault: Outside):
    assert vault.ok("index")["embedded"] == 2

    answer = vault.ok("search", "did a doctor look after my cats?", "--limit", "1")

    assert answer["freshness"] == {"stale_files": [], "semantic": "ready", "reason": ""}
    assert "kittens" in str(answer["hits"][0])


def test_without_vectors_the_answer_says_how_to_make_them(vault: Outside):
    vault.ok("index", "--no-embed")

    answer = vault.ok("search", "kittens")

    assert answer["hits"]
    assert answer["freshness"]["semantic"] == "off"
    assert "`vault-memory index` makes them" in answer["freshness"]["reason"]


def test_a_search_by_words_loads_no_model(vault: Outside):
    vault.ok("index")

    answer = vault.ok("search", "kittens", "--mode", "keyword")

    assert answer["freshness"]["semantic"] == "off"


def test_a_search_does_not_wait_for_a_server_unless_it_is_asked_to(vault: Outside):
    server = ScriptedServer()
    two = b'{"index": 0, "embedding": [1.0, 0.5]}, {"index": 1, "embedding": [0.5, 1]}'
    # The first question finds out the length of a vector.
    one = b'{"index": 0, "embedding": [1.0, 0.5]}'
    server.script = [says(200, b'{"data": [%s]}' % texts) for texts in (one, two)]
    vault.settings.update(
        VAULT_MEMORY_EMBEDDING_KIND="api", VAULT_MEMORY_EMBEDDING_BASE_URL=f"{server.url}/v1"
    )
    try:
        assert vault.ok("index")["embedded"] == 2
        requests = len(server.asked)
        answer = vault.ok("search", "kittens")

        assert len(server.asked) == requests
        assert "--mode semantic" in answer["freshness"]["reason"]

        server.script = [says(200, b'{"data": [{"index": 0, "embedding": [1, 0.5]}]}')]
        answer = vault.ok("search", "kittens", "--mode", "semantic")
        assert answer["freshness"]["semantic"] == "ready"
    finally:
        server.close()
