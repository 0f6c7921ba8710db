"""Facts in a browser: what holds, what has ended, and the buttons that keep them right."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.addons.page.served_page import Browser, ServedPage, serving_page
from vault_memory.api.vault_memory import VaultMemory

MIRA = "Users/mira/lantern/config/FACTS.md"
HOSTILE = (
    'x" onmouseover=alert(1) <b>',
    "</td><script>alert(1)</script>",
    "{{7*7}} {% include 'base.html' %}",
    "\u202eevil\u202c",
    "בוב כהן",
    "../../etc/passwd",
    "n" * 4096,
    "a & b ' c",
)


class Tags(HTMLParser):
    """The tags and the names of attributes of a view."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.values: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}
        self.values += [value or "" for _, value in attrs]


def facts_about(browser: Browser, entity: str) -> str:
    answer = browser.get(f"/facts?{urlencode({'entity': entity})}")
    assert answer.status_code == 200
    return answer.text


def fact_id(memory: VaultMemory, predicate: str) -> str:
    facts = memory.facts(scopes=["user:mira"], entity="mira")
    [match] = [fact.id for fact in facts if fact.predicate == predicate]
    return match


@pytest.mark.smoke
def test_an_entity_has_its_current_facts_and_its_past(page: ServedPage) -> None:
    browser = page.browser()
    text = facts_about(browser, "mira")
    past = browser.get("/facts?entity=mira&ended=1").text

    assert "keeper of the Gull Rock light" in text
    assert "Ended (1)" in text
    assert "<s>Ostervik</s>" not in text
    assert "<s>Ostervik</s>" in past


def test_facts_with_a_day_are_spans_on_one_axis(page: ServedPage) -> None:
    text = facts_about(page.browser(), "mira")

    picture = text[text.index("<svg") : text.index("</svg>")]
    # The oldest first, from the left end; what holds still ends at the right one.
    assert picture.index("Lives in Ostervik") < picture.index("Learns Chinese")
    assert '<rect x="0.0%"' in picture
    starts = re.findall(r'<rect x="([\d.]+)%" y="\d+" width="([\d.]+)%"', picture)
    assert all(float(start) + float(length) < 101.1 for start, length in starts)
    assert ">2011</text>" in picture
    assert "style=" not in picture
    # One fact with a day is no axis.
    assert "Over time" not in facts_about(page.browser(), "slipway")


def test_a_name_is_connected_with_those_that_have_a_view(own_page: ServedPage) -> None:
    own_page.memory.add_fact("mira", "friend of", "tomas", scope="user:mira", source="cli")

    text = facts_about(own_page.browser("mira"), "mira")

    connected = text[text.index("Connected with</h2>") :].partition("</section>")[0]
    assert 'href="/people/tomas">Tomas</a>' in connected
    assert "Friend of" in connected
    assert "Chinese" not in connected


def test_all_facts_are_grouped_by_subject(page: ServedPage) -> None:
    text = page.browser().get("/facts").text

    subjects = re.findall(r"<h3><a [^>]*>([^<]*)</a></h3>", text)
    assert subjects == sorted(subjects)
    group = text[text.index(">Petrel</a></h3>") :].partition("</ul>")[0]
    assert '<p class="text">Cook Mei Lin</p>' in group


def test_a_fact_is_found_by_an_alias_of_its_subject(page: ServedPage) -> None:
    assert "24 volts" in facts_about(page.browser(), "Greta")


def test_a_button_says_on_what(page: ServedPage) -> None:
    text = facts_about(page.browser(), "mira")

    for name in ("Still true", "No longer true", "Never true"):
        assert f'aria-label="{name}: mira learns Chinese">{name}</button>' in text


def test_a_change_comes_back_with_its_record(own_page: ServedPage) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")
    fact = fact_id(own_page.memory, "learns")

    answer = browser.post("/facts/end", {"id": fact, "to": "/facts?entity=mira"})

    record = own_page.memory.log()[-1]
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/facts?entity=mira&done={record.id}"
    assert record.source == "cli"
    view = browser.get(answer.headers["location"]).text
    assert ">Learns Chinese</p>" not in view
    assert 'aria-label="Undo: ' in view
    assert "<s>Chinese</s>" in browser.get("/facts?entity=mira&ended=1").text


def test_a_confirmed_fact_says_so_and_needs_no_button(own_page: ServedPage) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")

    browser.post("/facts/confirm", {"id": fact_id(own_page.memory, "learns")})

    text = facts_about(browser, "mira")
    assert " · confirmed" in text
    assert "Still true: mira learns Chinese" not in text


def test_a_fact_that_vanished_meanwhile_is_explained(own_page: ServedPage) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")
    fact = fact_id(own_page.memory, "learns")
    path = own_page.memory.root / MIRA
    text = path.read_text("utf-8")
    path.write_text(text.replace("- learns: Chinese (since 2026-04-07)\n", ""), "utf-8")
    before = path.read_bytes()

    answers = [
        browser.post(f"/facts/{action}", {"id": fact, "object": "Greek"})
        if action == "correct"
        else browser.post(f"/facts/{action}", {"id": fact})
        for action in ("confirm", "correct", "end", "delete")
    ]

    assert [answer.status_code for answer in answers] == [400] * 4
    assert all("there is no fact" in answer.text for answer in answers)
    assert all('role="alert"' in answer.text for answer in answers)
    assert path.read_bytes() == before


@pytest.mark.smoke
def test_another_persons_fact_cannot_be_seen_or_changed(own_page: ServedPage) -> None:
    browser = own_page.browser("tomas")
    own = facts_about(browser, "tomas")
    assert "clockmaker" in own
    fact = fact_id(own_page.memory, "learns")
    before = (own_page.memory.root / MIRA).read_bytes()

    views = [browser.get(f"/facts{query}").text for query in ("", "?entity=mira")]
    foreign = browser.post("/facts/delete", {"id": fact})
    absent = browser.post("/facts/delete", {"id": "0" * len(fact)})

    assert not any("Gull Rock" in view or "Chinese" in view for view in views)
    assert foreign.status_code == absent.status_code == 400
    assert foreign.text.replace(fact, "ID") == absent.text.replace("0" * len(fact), "ID")
    assert (own_page.memory.root / MIRA).read_bytes() == before


@pytest.mark.sampled
@pytest.mark.parametrize("scope", ["user:mira", "user:stranger", "nonsense"])
def test_a_fact_is_not_added_to_the_page_of_another_person(
    own_page: ServedPage, scope: str
) -> None:
    browser = own_page.browser("tomas")
    facts_about(browser, "tomas")
    fact = {"subject": "tomas", "predicate": "knows", "object": "mira"}

    answer = browser.post("/facts/add", {**fact, "scope": scope})

    assert answer.status_code == 404
    assert not own_page.memory.log()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("path", "fields", "says"),
    [
        ("add", {"subject": "x", "predicate": "y", "object": " "}, "has a subject"),
        (
            "add",
            {"subject": "x", "predicate": "y", "object": "z", "since": "soon"},
            "is not a date",
        ),
        ("add", {"subject": "x", "predicate": "y"}, "not understood"),
        ("correct", {"id": "1234"}, "does not say what is right"),
        ("end", {"id": "1234", "to": "//example.org"}, "away from the page"),
        ("end", {"id": "1234", "to": "https://example.org"}, "away from the page"),
    ],
)
def test_a_wrong_form_is_explained_and_changes_nothing(
    own_page: ServedPage, path: str, fields: dict[str, str], says: str
) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")

    answer = browser.post(f"/facts/{path}", fields)

    assert answer.status_code == 400
    assert says in answer.text
    assert not own_page.memory.log()


def test_a_session_that_may_only_look_gets_no_form(page: ServedPage) -> None:
    text = facts_about(page.browser(may_write=False), "mira")

    assert "keeper of the Gull Rock light" in text
    assert 'method="post"' not in text


@pytest.mark.sampled
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_stays_a_text(own_page: ServedPage, name: str) -> None:
    path = own_page.memory.root / MIRA
    page_of_facts = f"## {name}\n\n- knows: {name}\n- ~~knows: {name} 2~~\n"
    path.write_text(page_of_facts, "utf-8")
    browser = own_page.browser()

    views = [browser.get("/facts").text, facts_about(browser, name)]

    calm = Tags(facts_about(browser, "tomas")).names
    for view in views:
        tags = Tags(view)
        assert tags.names <= calm | {"s", "li", "ul", "time", "datetime", "span", "h3", "title"}
        assert not any(value.startswith("javascript:") for value in tags.values)
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", view)
        assert ">49 " not in view
    assert len(views[1]) < 300_000


def test_hidden_letters_of_a_value_are_not_lost_by_a_correction(own_page: ServedPage) -> None:
    path = own_page.memory.root / MIRA
    path.write_text("## mira\n\n- likes: \u202eaet\u202c\n", "utf-8")

    browser = own_page.browser()
    view = browser.get(f"/facts?entity=mira&edit={fact_id(own_page.memory, 'likes')}").text

    tags = Tags(view)

    # The box has the letters themselves: marks would be written into the note.
    assert "\u202eaet\u202c" in tags.values


@pytest.mark.sampled
def test_many_facts_come_in_parts(own_page: ServedPage) -> None:
    lines = "".join(f"- owns: thing {number:03}\n" for number in range(120))
    (own_page.memory.root / MIRA).write_text(f"## mira\n\n{lines}", "utf-8")
    browser = own_page.browser("mira")

    seen = []
    path = "/facts?entity=mira"
    for part in range(3):
        text = browser.get(path).text
        seen += re.findall(r"Owns (thing \d+)</p>", text)
        path = f"/facts?entity=mira&start={40 * part + 40}"
        assert (path.replace("&", "&amp;") in text) == (part < 2)

    assert sorted(set(seen)) == [f"thing {number:03}" for number in range(120)]


@pytest.mark.parametrize("part", ["-1", "x", "9" * 40, "1000000"])
def test_a_part_that_is_not_there_is_no_error_of_the_server(page: ServedPage, part: str) -> None:
    assert page.browser().get(f"/facts?start={part}").status_code in (200, 400)


@pytest.fixture
def empty_page(tmp_path: Path) -> Iterator[ServedPage]:
    (tmp_path / "empty").mkdir()
    with VaultMemory.open(tmp_path / "empty") as memory, serving_page(memory) as served:
        yield served


def test_an_empty_vault_gets_its_first_fact(empty_page: ServedPage) -> None:
    browser = empty_page.browser()
    assert "There are no facts yet" in browser.get("/facts").text
    fact = {"subject": "alice", "predicate": "works at", "object": "Acme"}

    assert browser.post("/facts/add", fact).status_code == 303

    assert "alice" in facts_about(browser, "alice")
    assert "Acme" in facts_about(browser, "Acme")


SECRET = {"subject": "wifi", "predicate": "password", "object": "quayfish"}


def asked_again(answer: str) -> dict[str, str]:
    """The hidden fields of the form that says Yes."""
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', answer)
    return {name: value for name, value in fields if name != "csrf"}


def test_a_fact_with_a_secret_is_asked_about_before_it_is_kept(own_page: ServedPage) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")

    question = browser.post("/facts/add", {**SECRET, "scope": "user:mira"})

    assert question.status_code == 409
    assert "password or a key" in question.text
    assert "quayfish" not in (own_page.memory.root / MIRA).read_text("utf-8")

    answer = browser.post("/facts/add", asked_again(question.text))

    assert answer.status_code == 303
    assert "quayfish" in (own_page.memory.root / MIRA).read_text("utf-8")


def test_a_fact_is_not_corrected_to_a_secret_without_a_question(own_page: ServedPage) -> None:
    browser = own_page.browser()
    facts_about(browser, "mira")
    fields = {"id": fact_id(own_page.memory, "learns"), "predicate": "pin", "object": "4417"}

    question = browser.post("/facts/correct", fields)

    assert question.status_code == 409
    assert "4417" not in (own_page.memory.root / MIRA).read_text("utf-8")
    assert browser.post("/facts/correct", asked_again(question.text)).status_code == 303
    assert "pin: 4417" in (own_page.memory.root / MIRA).read_text("utf-8")
