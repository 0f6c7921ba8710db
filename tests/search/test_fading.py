"""What the bot learned fades from answers, and what a person wrote or confirmed does not."""

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.page.served_page import serving_page
from vault_memory import VaultMemory
from vault_memory.config.sections import Config, LifecycleSettings
from vault_memory.contract import SearchMode
from vault_memory.edits.calls import EditOptions
from vault_memory.rules.claims.equivalence import content_key
from vault_memory.rules.facts.fact import Fact

ANN = "user:ann"
PROFILE = "Users/ann/lantern/config/USER.md"
FACTS = "Users/ann/lantern/config/FACTS.md"
LEDGER = "Users/ann/learning/counts.jsonl"
NOW = datetime(2026, 5, 26, 2, tzinfo=UTC)


def note_of(days_ago: int) -> str:
    return f"Users/ann/memories/{(NOW - timedelta(days=days_ago)).date()}.md"


class Vault:
    """A vault in which a bot learned something, on days before `NOW`."""

    def __init__(self, folder: Path, **lifecycle: Any) -> None:
        self.root = folder / "vault"
        self.state = folder / "state"
        (self.root / PROFILE).parent.mkdir(parents=True)
        (self.root / PROFILE).write_text("# Ann\n\n## Learned\n")
        self.memory = VaultMemory.open(
            self.root,
            config=Config(lifecycle=LifecycleSettings(**lifecycle)),
            environment={"VAULT_MEMORY_STATE": str(self.state)},
        )

    def learn(self, days_ago: int, *lines: str, note: str = "", now: datetime = NOW) -> str:
        path = note or note_of(days_ago)
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text("# Day\n\n## Learned\n")
        ops = [{"op": "append", "heading": "Learned", "line": line} for line in lines]
        self.memory.apply(path, ops, source="nightly", now=now)
        return path

    def write(self, days_ago: int, *lines: str) -> None:
        file = self.root / note_of(days_ago)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"- {line}\n" for line in lines)
        file.write_text(f"# Day\n\n## Learned\n\n{text}")

    def state_fact(self) -> None:
        (self.root / FACTS).write_text("# Facts\n")
        fact = Fact("", "ann", "likes", "tea", scope=ANN, valid_from=NOW.date())
        self.memory.facts.add(fact, EditOptions("nightly", now=NOW))

    def count(self, text: str, days: int, last: str = "2026-05-20") -> None:
        record = {
            "ts": NOW.isoformat(),
            "device": "d1",
            "reads": {content_key(ANN, text): [days, last]},
        }
        file = self.root / LEDGER
        file.parent.mkdir(exist_ok=True)
        with file.open("a") as stream:
            stream.write(json.dumps(record) + "\n")

    def search(self, query: str = "tea", **options: Any) -> Any:
        options = {"now": NOW, **options}
        return self.memory.search(query, scopes=[ANN], **options)

    def texts(self, query: str = "tea", **options: Any) -> list[str]:
        return [hit.text[2:] for hit in self.search(query, **options).hits]

    def reads(self) -> list[dict[str, str]]:
        [file] = [*self.state.rglob("reads.jsonl")] or [None]
        if file is None:
            return []
        return [json.loads(line) for line in file.read_text().split("\n") if line]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        yield vault


CODE = "[ephemeral] The code of the tea house is 4417"


def test_a_code_of_two_years_ago_is_left_out_until_it_is_asked_for(vault):
    old = vault.learn(730, CODE)
    vault.learn(2, "[ephemeral] The code of the tea house is 9021")

    answer = vault.search("code of the tea house")

    assert [hit.date for hit in answer.hits] == ["2026-05-24"]
    assert answer.left_out == {"deleted": 1}
    all_hits = vault.search("code of the tea house", archived=True).hits
    assert [(hit.date, hit.state) for hit in all_hits] == [
        ("2026-05-24", "active"),
        ("2024-05-26", "deleted"),
    ]
    assert CODE in vault.memory.read(old).text


def test_an_old_code_does_not_come_into_a_prompt(vault):
    vault.learn(730, CODE)
    vault.learn(40, "[plan] Opens the tea house with the code 9021")

    block = vault.memory.context("what is the code of the tea house?", scopes=[ANN], now=NOW).text

    assert "9021" in block
    assert "4417" not in block


@pytest.mark.parametrize(
    "embed", ["![[{note}]]", "![[{note}#Learned]]", "{{{{embed [[{note}]]}}}}", "![[{path}]]"]
)
def test_an_embed_does_not_bring_back_what_has_faded(vault, embed):
    """The rest of the note that is embedded is shown."""
    old = vault.learn(730, CODE)
    file = vault.root / old
    file.write_text(file.read_text() + "- The kettle is green\n")
    name = old.rpartition("/")[2].removesuffix(".md")
    line = "walrus " + embed.format(note=name, path=old.removesuffix(".md"))
    vault.write(40, line)

    [text, *_] = vault.texts("walrus")
    block = vault.memory.context("what does the walrus say?", scopes=[ANN], now=NOW)

    assert "The kettle is green" in text
    assert "4417" not in text
    assert "The kettle is green" in block.text
    assert "4417" not in block.text


def test_what_a_person_wrote_or_confirmed_never_fades(vault):
    vault.write(2_000, "[ephemeral] Mine: tea")
    vault.learn(2_001, "[ephemeral] Confirmed: tea (2020-12-01, confirmed)")
    vault.learn(0, "Likes: tea (2020-01-01)", note=PROFILE)
    vault.state_fact()

    answer = vault.search(archived=True, limit=20)

    assert answer.left_out == {}
    assert {hit.state for hit in answer.hits} == {"active"}
    assert len(answer.hits) == 4


def test_without_fading_an_old_code_is_found(tmp_path):
    vault = Vault(tmp_path, enabled=False)
    with vault.memory:
        vault.learn(730, CODE)

        answer = vault.search("code of the tea house")

        assert len(answer.hits) == 1
        assert answer.left_out == {}


def test_a_stale_item_ranks_a_tenth_lower(vault):
    vault.learn(150, "[event] Drank tea with Bo")
    vault.learn(1, "[event] Drank tea with Al")

    hits = vault.search("drank tea", why=True).hits

    assert [hit.date for hit in hits] == ["2026-05-25", "2025-12-27"]
    assert hits[1].why.terms["faded"] == pytest.approx(-0.1)
    assert hits[0].score - hits[1].score == pytest.approx(0.1, abs=0.01)


def test_reads_keep_an_item_alive(vault):
    vault.learn(200, "[event] Drank tea with Bo")
    assert vault.texts() == []

    vault.count("Drank tea with Bo", 10)

    assert vault.texts() == ["[event] Drank tea with Bo"]


# ---- reads ----------------------------------------------------------------------------


def test_what_is_found_is_noted_once_a_day(vault):
    vault.learn(1, "[event] Drank tea with Bo")
    vault.write(3, "Mine: tea")
    vault.search()
    vault.search("tea with Bo")
    vault.memory.context("who drank tea with Ann?", scopes=[ANN], now=NOW)

    key = content_key(ANN, "Drank tea with Bo")
    assert vault.reads() == [{"scope": ANN, "key": key, "day": "2026-05-26"}]


def test_lines_that_stand_in_each_prompt_are_not_read_by_it(vault):
    # The dated notes of the last days go into each prompt.
    vault.learn(1, "[event] Drank tea with Bo")

    block = vault.memory.context("who drank tea with Ann?", scopes=[ANN], now=NOW)

    assert "Drank tea with Bo" in block.text
    assert vault.reads() == []


def test_lines_that_a_prompt_recalls_are_read_by_it(vault):
    vault.learn(20, "[event] Drank tea with Bo")

    block = vault.memory.context("who drank tea with Ann?", scopes=[ANN], now=NOW)

    assert "Drank tea with Bo" in block.text
    assert len(vault.reads()) == 1


def test_a_preview_keeps_no_item_alive(vault):
    vault.learn(20, "[event] Drank tea with Bo")

    hits = vault.search(preview=True).hits
    block = vault.memory.context("who drank tea with Ann?", scopes=[ANN], now=NOW, preview=True)

    assert hits
    assert "Drank tea with Bo" in block.text
    assert vault.reads() == []


@pytest.mark.parametrize("view", ["/search?q=tea", "/prompt?user=ann&prompt=tea"])
def test_looking_at_the_page_keeps_no_item_alive(vault, view):
    # The page has the clock of the machine.
    moment = datetime.now(UTC) - timedelta(days=20)
    days_ago = (NOW - moment).days
    vault.learn(days_ago, "[event] Drank tea with Bo in Oslo", now=moment)

    with serving_page(vault.memory) as page:
        text = page.browser().get(view).text

    assert "in Oslo" in text
    assert vault.reads() == []


def test_an_incognito_conversation_leaves_no_reads(vault):
    vault.learn(20, "[event] Drank tea with Bo")
    vault.memory.record_turn(session="s1", role="user", text="hello", user="ann", mode="incognito")

    vault.search(session="s1")
    vault.memory.context("who drank tea?", scopes=[ANN], now=NOW, session="s1")

    assert vault.reads() == []
    vault.search(session="s2")
    assert len(vault.reads()) == 1


# ---- ranking --------------------------------------------------------------------------

IDENTITY = "[identity] Runs the tea house"
PLAN = "[plan] Visits the tea house"
CONTEXT = "[context] Sees the tea house"
EVENT = "[event] Bought the tea house"


@pytest.fixture
def tea_house(vault: Vault) -> Vault:
    """Four items with the same words; the balanced ranking hardly tells them apart."""
    vault.learn(300, IDENTITY)
    vault.learn(0, PLAN)
    vault.learn(35, CONTEXT)
    vault.learn(3, EVENT)
    return vault


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("mode", "order"),
    [
        # Recency: 1 today, 0.42 after 3 days, 0.15 after 300.
        ("recent", [PLAN, EVENT, IDENTITY]),
        # Importance: 0.9, 0.6 and 0.6.
        ("important", [PLAN, IDENTITY, EVENT]),
        # Retention: 1 today, 0.98 after 3 days, 0.44 after 300; 0.19 for the context.
        ("historical", [PLAN, EVENT, IDENTITY, CONTEXT]),
        ("comprehensive", [PLAN, EVENT, IDENTITY, CONTEXT]),
        ("general", [PLAN, EVENT, IDENTITY]),
    ],
)
def test_each_mode_orders_the_tea_house_as_by_hand(tea_house, mode, order):
    vault = tea_house
    # 65 days: archived, since it was stale for more than 30 days.
    vault.learn(65, CONTEXT.replace("Sees", "Saw"))

    answer = vault.search("tea house", mode=mode, why=True)

    texts = [hit.text[2:] for hit in answer.hits]
    assert [text for text in texts if text in order] == order
    for hit in answer.hits:
        assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-6)
    assert [hit.score for hit in answer.hits] == sorted(
        (hit.score for hit in answer.hits), reverse=True
    )


def test_historical_modes_include_archived_items_and_no_deleted_ones(vault):
    vault.learn(70, "[context] Sees the tea house")
    vault.learn(700, "[context] Saw the tea house")

    for mode in get_args(SearchMode):
        texts = vault.texts("tea house", mode=mode)
        includes = mode in ("historical", "comprehensive")
        assert texts == (["[context] Sees the tea house"] if includes else []), mode


def test_the_terms_of_a_score_are_shares_as_documented(vault):
    vault.learn(7, "[plan] Visits the tea house (2026-05-19, conf:0.5)")
    vault.count("Visits the tea house", 3, "2026-05-25")

    [hit] = vault.search("tea house", mode="general", why=True).hits

    assert hit.why.terms == pytest.approx(
        {
            "semantic": 0.35,
            "recency": 0.20 * 0.5906161,
            "decay": 0.20 * 0.9902,
            "importance": 0.20 * 0.6,
            "confidence": 0.05 * 0.5,
        },
        rel=1e-4,
    )


lines = st.tuples(
    st.integers(0, 500),
    st.sampled_from(["identity", "plan", "event", "context", "ephemeral", "goal"]),
    st.sampled_from(["with Bo", "with Al", "alone"]),
    st.integers(0, 12),
)


@pytest.mark.sampled
@settings(max_examples=8)
@given(st.lists(lines, min_size=2, max_size=6))
def test_a_rebuilt_index_gives_the_same_order_and_scores(tmp_path_factory, lines):
    vault = Vault(tmp_path_factory.mktemp("law"))
    with vault.memory:
        for days_ago, type_, who, reads in lines:
            text = f"[{type_}] Drank tea {who}"
            vault.learn(days_ago, text)
            vault.texts()
            if reads:
                vault.count(text, reads)

        def answers() -> list[Any]:
            options = itertools.product(get_args(SearchMode), (False, True))
            return [
                [
                    (hit.note, hit.lines, round(hit.score, 9), hit.state)
                    for hit in vault.search("drank tea", mode=mode, archived=archived).hits
                ]
                for mode, archived in options
            ]

        before = answers()
        vault.memory.index(rebuild=True, embed=False)
        assert answers() == before


# ---- the hot cache --------------------------------------------------------------------


def test_a_repeated_question_is_answered_from_the_cache(vault, monkeypatch):
    vault.learn(1, "[event] Drank tea with Bo")
    first = vault.search(refresh=False)
    monkeypatch.setattr("vault_memory.search.query.search", None)

    assert vault.search(refresh=False).hits == first.hits
    # Another question is not in the cache.
    with pytest.raises(TypeError):
        vault.search("coffee", refresh=False)
    with pytest.raises(TypeError):
        vault.search(refresh=False, now=NOW + timedelta(days=1))


def test_the_cache_never_serves_a_changed_note(vault):
    path = vault.learn(1, "[event] Drank tea with Bo")
    assert vault.texts() == ["[event] Drank tea with Bo"]

    file = vault.root / path
    file.write_text(file.read_text().replace("with Bo", "with Al"))

    assert vault.texts() == ["[event] Drank tea with Al"]
    file.unlink()
    vault.memory.index(embed=False)
    assert vault.texts() == []


def test_the_cache_serves_no_answer_from_before_a_fold(vault):
    vault.learn(200, "[event] Drank tea with Bo")
    assert vault.texts() == []

    vault.count("Drank tea with Bo", 10)

    assert vault.texts() != []


def test_the_cache_is_passed_by_while_notes_are_stale(vault, monkeypatch):
    vault.learn(1, "[event] Drank tea with Bo")
    vault.search(refresh=False)
    vault.memory.searcher.unread_notes = lambda: [note_of(1)]
    monkeypatch.setattr("vault_memory.search.query.search", None)

    with pytest.raises(TypeError):
        vault.search(refresh=False)


def test_the_cache_keeps_so_many_answers(vault, monkeypatch):
    monkeypatch.setattr("vault_memory.search.hot_cache.MOST", 3)
    vault.learn(1, "[event] Drank tea with Bo")
    for number in range(9):
        vault.search(f"tea {number}", refresh=False)

    assert len(vault.memory.searcher._cache._answers) == 3
