"""A query whose words no note has is answered by the nearest lines, and every door says so."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.addons.page.served_page import serving_page
from tests.every import every
from vault_memory import VaultMemory, cli
from vault_memory.api import json_contract
from vault_memory.contract import NEAREST
from vault_memory.rules.context import quotations

NOW = datetime(2026, 5, 26, 12, tzinfo=UTC)
ANN = "user:ann"
NONSENSE = (
    "xqzzt blorf wibnug frandle quomp zintheria vorbo plimsk drazzle ungopt"
    " krevish molibdo snarquil tibbledon wexmoor yandrip fushlek gomptra hilvex jurbane"
)
NOTES = {
    "Users/ann/lantern/config/USER.md": "# Ann\n\n- Keeps eleven brown hens by the brook\n",
    "Users/ann/memories/boats.md": "# Boats\n\n- The red dinghy leaks at the stern\n",
    "Users/ann/memories/2026-05-04.md": "- The harbour was painted white\n",
    "Users/ann/lantern/config/FACTS.md": "## ann\n\n- also_known_as: Nan\n",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultMemory]:
    folder = tmp_path_factory.mktemp("words")
    for path, text in NOTES.items():
        note = folder / "vault" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    environment = {"VAULT_MEMORY_STATE": str(folder / "state")}
    with VaultMemory.open(folder / "vault", environment=environment) as memory:
        memory.index()
        memory.warm()
        yield memory


def payload(memory: VaultMemory, query: str, **options: object) -> dict[str, object]:
    answer = memory.search(query, scopes=[ANN], now=NOW, **options)
    assert answer.hits
    return dict(json_contract.of_search(answer))


@pytest.mark.sampled
@every("query", [NONSENSE, *NONSENSE.split()[:3], "кырглюб", "!? xqzzt"])
@every("mode", ["balanced", "rrf", "recent"])
def test_nonsense_is_answered_by_the_nearest_and_said_to_be(memory, query, mode):
    assert payload(memory, query, mode=mode)["words_missing"] is True


@every(
    "query",
    [
        *("hens", "who keeps xqzzt hens", "what was on 4 May 2026", "boats", "tell about Nan"),
        *("4 May 2026", "yesterday", "the", "was the"),
    ],
)
def test_a_query_with_a_word_a_day_or_a_name_of_a_note_is_answered(memory, query):
    found = payload(memory, query)
    assert "words_missing" not in found
    assert "unsure" not in found


ELSEWHERE = "who sold the brown piano from Lisbon, and which orchestra bought its broken pedals"


@every("mode", ["balanced", "keyword", "rrf", "recent"])
def test_a_question_that_shares_a_word_alone_is_answered_without_certainty(memory, mode):
    found = payload(memory, ELSEWHERE, mode=mode)
    assert found["unsure"] is True
    assert "words_missing" not in found


def test_who_asks_by_meaning_alone_gets_no_remark(memory):
    for query in (NONSENSE, ELSEWHERE):
        assert not {"unsure", "words_missing"} & payload(memory, query, mode="semantic").keys()


@pytest.mark.sampled
@every(("query", "key"), [(NONSENSE, "words_missing"), (ELSEWHERE, "unsure")])
def test_every_door_says_that_the_hits_may_not_answer(memory, monkeypatch, capsys, query, key):
    state = memory.vault.state.path.parent
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(state))

    def run(*arguments: str) -> str:
        vault = str(memory.vault.folder.root)
        with pytest.raises(SystemExit):
            cli.main(["--vault", vault, "search", query, *arguments])
        return capsys.readouterr().out

    assert run().startswith(NEAREST[key])
    assert json.loads(run("--json"))[key] is True

    answered = quotations.of_search(payload(memory, query))
    assert answered.text.startswith(NEAREST[key])
    assert NEAREST[key] in answered.answer["message"]

    with serving_page(memory) as page:
        body = page.browser().get(f"/search?q={query}").text
    assert {"words_missing": "No note has these words.", "unsure": "Nothing surely fits."}[
        key
    ] in body
    assert "<h2>Nearest in meaning</h2>" in body
    assert "<h2>Answers</h2>" not in body
