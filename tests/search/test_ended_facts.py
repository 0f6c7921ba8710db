"""What has ended is below what replaced it, and every door says that it has ended."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.addons.page.served_page import serving_page
from vault_memory import VaultMemory, cli
from vault_memory.api import json_contract
from vault_memory.config.sections import Config, EmbeddingSettings, Facts
from vault_memory.contract import SearchMode
from vault_memory.rules.context import quotations
from vault_memory.search.results import Hit

ANN = "user:ann"
PAGE = "Users/ann/lantern/config/FACTS.md"
PROFILE = "Users/ann/lantern/config/USER.md"
NOW = datetime(2026, 5, 26, 12, tzinfo=UTC)
WORD_MODES: list[SearchMode] = ["balanced", "keyword", "rrf", "recent", "historical"]


class Vault:
    """A vault of one person."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        self.root.mkdir()
        self.memory = VaultMemory.open(
            self.root,
            config=Config(
                embedding=EmbeddingSettings(kind="off"),
                facts=Facts(single_valued=(*Facts().single, "deadline_of")),
            ),
            environment={"VAULT_MEMORY_STATE": str(folder / "state")},
        )

    def write(self, path: str, text: str) -> None:
        note = self.root / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")

    def hits(self, query: str, **options: object) -> Sequence[Hit]:
        options = {"now": NOW, **options}
        return self.memory.search(query, scopes=[ANN], **options).hits


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    with vault.memory:
        yield vault


PAGES = {
    "struck through with its days": (
        "## ann\n\n- ~~lives_in: Flensburg~~ (2011-08-01 to 2019-03-01)\n"
        "- lives_in: the old keeper's house on the northern rock (since 2019-03-01)\n"
    ),
    "struck through by hand, without a day": (
        "## ann\n\n- ~~lives_in: Flensburg~~\n"
        "- lives_in: the old keeper's house on the northern rock\n"
    ),
    "the newer line above": (
        "## ann\n\n- lives_in: the old keeper's house on the northern rock\n"
        "- ~~lives_in: Flensburg~~\n"
    ),
    "past its last day, and not struck through": (
        "## ann\n\n- lives_in: Flensburg (until 2019-03-01)\n"
        "- lives_in: the old keeper's house on the northern rock (since 2019-03-01)\n"
    ),
    "two values, and the later one holds": (
        "## ann\n\n- lives_in: Flensburg (since 2011-08-01)\n"
        "- lives_in: the old keeper's house on the northern rock (since 2019-03-01)\n"
    ),
    "with a box and a block id": (
        "## ann\n\n- [ ] ~~lives_in: Flensburg~~ ^old\n"
        "* lives_in: the old keeper's house on the northern rock ^new\n"
    ),
    "under another name of the person": (
        "## ann\n\n- also_known_as: Ann Lee\n- ~~lives_in: Flensburg~~\n\n"
        "## Ann Lee\n\n- lives_in: the old keeper's house on the northern rock\n"
    ),
}
QUESTIONS = ["where does ann live", "does ann live in Flensburg?", "lives_in"]


@pytest.mark.sampled
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_ended_fact_is_below_the_one_that_holds_and_marked(vault, page, question):
    vault.write(PAGE, page)

    hits = vault.hits(question)

    objects = [("Flensburg" in hit.text, hit.ended) for hit in hits]
    assert objects.index((False, False)) < objects.index((True, True))
    assert (True, False) not in objects


@pytest.mark.parametrize("mode", WORD_MODES)
def test_the_order_is_the_same_in_each_mode(vault, mode):
    vault.write(PAGE, PAGES["struck through with its days"])

    ended = [hit.ended for hit in vault.hits("ann lives in Flensburg", mode=mode)]

    assert ended == sorted(ended)
    assert True in ended


def test_the_fact_that_holds_comes_along_though_it_has_no_word_of_the_question(vault):
    filler = "".join(f"- knows: Flensburg harbour {name}\n" for name in range(150))
    page = "## ann\n\n- ~~lives_in: Flensburg~~\n- lives_in: Rome\n\n## ben\n\n" + filler
    vault.write(PAGE, page)

    first, second, *_ = vault.hits("Flensburg in 2011?", limit=200)[:2]

    assert "Rome" in first.text or not second.ended
    hits = vault.hits("Flensburg", limit=200)
    texts = [hit.text for hit in hits]
    assert texts.index("- lives_in: Rome") < texts.index("- ~~lives_in: Flensburg~~")


@pytest.mark.parametrize(
    "page",
    [
        "## ann\n\n- ~~uses: the vim editor~~\n- uses: the zed editor for her long texts\n",
        "## ann\n\n- ~~uses: the vim editor~~ (2020-01-01 to 2024-01-01)\n"
        "- uses: the zed editor for her long texts (since 2024-01-01)\n",
    ],
)
def test_of_several_values_the_ended_one_is_last(vault, page):
    vault.write(PAGE, page)

    assert [hit.ended for hit in vault.hits("ann uses the vim editor")] == [False, True]


def test_a_fact_that_ended_without_a_successor_is_found_and_marked(vault):
    vault.write(PAGE, "## ann\n\n- ~~owns: a red dinghy~~ (2020-01-01 to 2024-01-01)\n")

    assert [hit.ended for hit in vault.hits("the red dinghy of ann")] == [True]


def test_a_predicate_that_the_configuration_names_has_one_value(vault):
    vault.write(
        PAGE,
        "## museum\n\n- deadline_of: the paper, in April (since 2026-01-01)\n"
        "- deadline_of: the paper, at the end of September (since 2026-04-01)\n",
    )

    hits = vault.hits("the deadline of the paper in April")

    assert [hit.ended for hit in hits] == [False, True]


def test_what_holds_until_a_coming_day_has_not_ended(vault):
    vault.write(PAGE, "## ann\n\n- visiting: Lisbon (2026-05-01 to 2026-06-09)\n")

    assert [hit.ended for hit in vault.hits("Lisbon")] == [False]
    later = datetime(2026, 7, 1, tzinfo=UTC)
    assert [hit.ended for hit in vault.hits("Lisbon", now=later)] == [True]


def test_struck_and_replaced_lines_of_other_notes_are_marked_and_below(vault):
    vault.write(
        PROFILE,
        "# Ann\n\n## Home\n\n- ~~Lives in Flensburg~~\n- Lives in Lübeck\n"
        "- Rows on Mondays (2026-01-02, conf:0.3)\n- Rows on Sundays (2026-03-02)\n",
    )

    homes = vault.hits("who lives in which town")
    rows = vault.hits("who rows")

    assert [hit.ended for hit in homes if "Lives" in hit.text] == [False, True]
    assert [hit.ended for hit in rows if "Rows" in hit.text] == [False, True]


@pytest.mark.parametrize(
    "line", ["- ~~half~~ a loaf", "- a ~~~ b", "- works_at: the mill (conf:0.3)", "~~~\nx\n~~~"]
)
def test_a_line_that_is_struck_in_part_has_not_ended(vault, line):
    vault.write(PAGE, f"## ann\n\n{line}\n")

    assert not any(hit.ended for hit in vault.hits("half loaf mill works b x"))


def test_a_filter_keeps_out_the_fact_that_holds(vault):
    vault.write(
        PAGE, "## ann\n\n- ~~lives_in: Flensburg~~ (topic:home)\n- lives_in: Rome (topic:city)\n"
    )

    assert [hit.ended for hit in vault.hits("Flensburg", topic="home")] == [True]


def test_facts_of_scopes_that_were_not_asked_raise_nothing(vault):
    vault.write(PAGE, "## ann\n\n- ~~lives_in: Flensburg~~\n")
    vault.write("Users/ben/lantern/config/FACTS.md", "## ann\n\n- lives_in: Rome\n")

    assert [hit.text for hit in vault.hits("Flensburg")] == ["- ~~lives_in: Flensburg~~"]


@pytest.mark.sampled
@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 27), min_size=2, max_size=4, unique=True), st.randoms())
def test_the_newest_of_any_number_of_values_is_first(tmp_path_factory, days, random):
    vault = Vault(tmp_path_factory.mktemp("moves"))
    towns = ["Flensburg", "Lübeck", "Kiel by the long canal", "Husum"][: len(days)]
    days.sort()
    with vault.memory:
        for town, day in zip(towns, days, strict=True):
            vault.memory.add_fact(
                "ann", "lives_in", town, scope=ANN, valid_from=date(2026, 4, day), now=NOW
            )
        town = random.choice(towns)
        first = vault.hits(f"does ann live in {town}")[0]

        assert (towns[-1] in first.text, first.ended) == (True, False)


def test_the_sum_of_the_terms_is_the_score_of_a_raised_hit(vault):
    filler = "".join(f"- knows: Flensburg harbour {name}\n" for name in range(150))
    page = "## ann\n\n- ~~lives_in: Flensburg~~\n- lives_in: Rome\n\n## ben\n\n" + filler
    vault.write(PAGE, page)

    for mode in WORD_MODES:
        for hit in vault.hits("Flensburg", limit=200, why=True, mode=mode):
            assert hit.why
            assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-6)


# --- Doors ---


def test_every_door_marks_what_has_ended(vault, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))

    def run(*arguments: str) -> None:
        with pytest.raises(SystemExit):
            cli.main(["--vault", str(vault.root), "--now", NOW.isoformat(), *arguments])

    vault.write(PAGE, PAGES["struck through with its days"])
    vault.memory.index(embed=False)

    answer = vault.memory.search("where does ann live", scopes=[ANN], now=NOW)
    payload = json_contract.of_search(answer)
    answered = quotations.of_search(payload)

    assert [hit.get("ended") for hit in payload["hits"]] == [None, True]
    assert [hit.get("ended") for hit in answered.answer["hits"]] == [None, True]
    assert answered.text.count('state="ended"') == 1

    run("search", "where does ann live", "--json")
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert [hit.get("ended") for hit in hits] == [None, True]
    run("search", "where does ann live")
    shown = capsys.readouterr().out
    assert shown.count("ended") == 1
    assert shown.index("northern rock") < shown.index("ended")

    with serving_page(vault.memory) as page:
        body = page.browser().get("/search?q=where+does+ann+live").text
    assert body.count("<s>") == 1
    assert body.index("<h2>Answers</h2>") < body.index("<h2>Earlier</h2>") < body.index("<s>")


def test_a_prompt_gets_no_line_that_has_ended(vault):
    vault.write(
        "Users/ann/memories/homes.md",
        "# Homes\n\n- ~~Keeps eleven brown hens~~\n- Keeps two brown geese\n",
    )
    vault.write("Users/ann/lantern/config/FACTS.md", "## ann\n\n- owns: hens (until 2020-01-01)\n")

    block = vault.memory.context("who keeps brown hens", scopes=[ANN], now=NOW, private=True)

    assert "geese" in block.text
    assert "eleven" not in block.text


QUESTIONS_ABOUT_HOME = ["where does ann live", "does ann live far away?", "ann lives"]


def say_home(vault: Vault, place: str, day: int) -> None:
    vault.memory.record_turn(
        session="s",
        role="user",
        user="ann",
        text=f"I live in {place}.",
        now=datetime(2026, 5, day, 12, tzinfo=UTC),
    )


@pytest.mark.parametrize("question", QUESTIONS_ABOUT_HOME)
@pytest.mark.parametrize("since", ["", " (since 2026-05-20)"])
def test_a_fact_is_above_what_was_said_before_it(vault, question, since):
    say_home(vault, "Flensburg", 1)
    vault.write(PAGE, f"## ann\n\n- lives_in: Rome{since}\n")

    assert "Rome" in vault.hits(question)[0].text


def test_what_was_said_with_a_word_that_the_fact_lacks_stays_above_it(vault):
    say_home(vault, "Flensburg", 1)
    vault.write(PAGE, "## ann\n\n- lives_in: Rome\n")

    assert "Flensburg" in vault.hits("did ann live in Flensburg")[0].text


def test_what_is_said_since_a_fact_began_stays_above_it(vault):
    vault.write(PAGE, "## ann\n\n- lives_in: Rome (since 2026-05-01)\n")
    say_home(vault, "Oslo", 25)

    hits = vault.hits("where does ann live")

    assert "Oslo" in hits[0].text
