"""People and things of the notes: the list, and the view of each."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.addons.page.served_page import ServedPage, serving_page
from tests.addons.page.test_facts_view import HOSTILE, Tags
from vault_memory.addons.page.wording import person
from vault_memory.api.vault_memory import VaultMemory

MIRA = "Users/mira/lantern/config/FACTS.md"
NAMES = re.compile(r'<p><a href="(/(?:people/|facts\?)[^"]*)">([^<]*)</a>')


def names_on(text: str) -> dict[str, str]:
    """Name → the path of its view."""
    return {html.unescape(name): html.unescape(path) for path, name in NAMES.findall(text)}


def test_the_list_has_each_entity_with_its_counts(page: ServedPage) -> None:
    browser = page.browser()

    text = browser.get("/people").text

    entities = page.memory.facts.entities(scopes=page.memory.scopes())
    # The most named first.
    entities.sort(key=lambda entity: (-entity.facts - entity.mentions, entity.name))
    assert list(names_on(text)) == [person(entity.name) for entity in entities]
    row = text[text.index(">Fog Bell</a>") :].partition("</li>")[0]
    assert "Greta" in row
    assert "4 facts · named" in row


def test_the_list_has_names_that_notes_link_to_without_a_file(own_page: ServedPage) -> None:
    note = own_page.memory.root / "memory" / "visit.md"
    note.write_text("Met [[Dov Stern]] and [[People/Esra Kaya|Esra]]; ![[map.png]]\n", "utf-8")
    browser = own_page.browser()

    names = names_on(browser.get("/people").text)

    assert {"Dov Stern", "Esra Kaya"} <= set(names)
    assert not {"map.png", "map"} & set(names)
    assert "visit" in browser.get(names["Dov Stern"]).text


@pytest.mark.sampled
def test_each_name_leads_to_its_view(page: ServedPage) -> None:
    browser = page.browser()

    for name, path in names_on(browser.get("/people").text).items():
        answer = browser.get(path)
        assert answer.status_code == 200
        assert f"<h1>{html.escape(name, quote=False)}" in answer.text.replace("&#39;", "'")


def test_the_list_is_narrowed_by_name_alias_and_type(page: ServedPage) -> None:
    browser = page.browser()

    assert list(names_on(browser.get("/people?q=greta").text)) == ["Fog Bell"]
    of_type = names_on(browser.get("/people?type=person").text)
    assert "Mira" in of_type
    assert "Fog Bell" not in of_type
    assert not names_on(browser.get("/people?q=nothing+like+that").text)


def test_a_person_has_facts_and_mentions(page: ServedPage) -> None:
    text = page.browser("mira").get("/people/mira").text

    assert "keeper of the Gull Rock light" in text
    assert 'href="/about?name=mira">Memory of Mira</a>' in text
    mentions = text.partition("Mentions</h2>")[2]
    assert "#line-" in mentions


def test_a_button_leads_back_to_the_person(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    text = browser.get("/people/mira").text
    form = re.search(r'<form method="post" id="form-facts".*?</form>', text, re.DOTALL)
    button = re.search(r'formaction="/facts/end" name="id" value="(\w+)"', text)
    assert form
    assert button
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))

    answer = browser.post("/facts/end", {**fields, "id": button[1]})

    assert answer.headers["location"].startswith("/people/mira?done=")


def test_the_last_fact_of_a_name_can_be_deleted_and_brought_back(own_page: ServedPage) -> None:
    change = own_page.memory.add_fact("mira", "knows", "zeppelin", scope="user:mira", source="cli")
    browser = own_page.browser("mira")
    browser.get("/people/zeppelin")

    fields = {"id": change.id, "to": "/people/zeppelin"}
    answer = browser.post("/facts/delete", fields)
    view = browser.get(answer.headers["location"])

    assert view.status_code == 404
    assert "No note names “zeppelin”" in view.text
    assert 'aria-label="Undo: ' in view.text


def test_another_persons_things_are_as_unknown_as_nothing(page: ServedPage) -> None:
    browser = page.browser("mira")

    listed = names_on(browser.get("/people").text)
    foreign = browser.get("/people/fog%20bell")
    absent = browser.get("/people/fig%20ball")

    assert "Mira" in listed
    assert not {"Fog Bell", "Tomas"} & set(listed)
    assert (foreign.status_code, absent.status_code) == (404, 404)
    texts = [
        foreign.text.replace("fog%20bell", "X")
        .replace("fog+bell", "X")
        .replace("fog bell", "X")
        .replace("Fog Bell", "X")
    ]
    texts.append(
        absent.text.replace("fig%20ball", "X")
        .replace("fig+ball", "X")
        .replace("fig ball", "X")
        .replace("Fig Ball", "X")
    )
    assert texts[0] == texts[1]


@pytest.mark.sampled
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_stays_a_text(own_page: ServedPage, name: str) -> None:
    path = own_page.memory.root / MIRA
    text = f"## {name}\n\n- knows: {name} 2\n- is_a: person\n"
    path.write_text(text, "utf-8")
    browser = own_page.browser()
    listing = browser.get("/people").text
    links = [value for value in Tags(listing).values if value.startswith("/people/")]

    views = [listing, *(browser.get(link).text for link in sorted(set(links)))]

    for view in views:
        tags = Tags(view).names
        assert not {"onmouseover", "b"} & tags
        assert "<script>alert" not in view
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", view)
        assert len(view) < 400_000
    assert any("Is a person" in view for view in views[1:]) or ".." in name


@pytest.mark.sampled
@pytest.mark.parametrize("path", ["", "..%2f..%2fetc", "%00", "%ff", "a" * 5000, "x/../y", "%5c"])
def test_a_path_of_no_name_is_a_view(page: ServedPage, path: str) -> None:
    assert page.browser().get(f"/people/{path}").status_code in (400, 404)


@pytest.mark.sampled
def test_many_names_come_in_parts(own_page: ServedPage) -> None:
    pages = "".join(f"## thing {number:03}\n\n- is_a: boat\n\n" for number in range(250))
    (own_page.memory.root / MIRA).write_text(pages, "utf-8")
    browser = own_page.browser("mira")

    seen: dict[str, str] = {}
    for start in range(0, 250, 50):
        query = urlencode({"q": "thing", "start": start})
        seen |= names_on(browser.get(f"/people?{query}").text)

    assert list(seen) == [f"Thing {number:03}" for number in range(250)]


@pytest.fixture
def empty_page(tmp_path: Path) -> Iterator[ServedPage]:
    (tmp_path / "empty").mkdir()
    with VaultMemory.open(tmp_path / "empty") as memory, serving_page(memory) as served:
        yield served


def test_an_empty_vault_says_what_to_do_next(empty_page: ServedPage) -> None:
    browser = empty_page.browser()

    assert "Add a fact</a>" in browser.get("/people").text
    assert browser.get("/people/alice").status_code == 404
    assert "Nothing is remembered" in browser.get("/about").text
    answer = browser.get("/about?name=alice")
    assert answer.status_code == 303
    assert browser.get(answer.headers["location"]).status_code == 200
