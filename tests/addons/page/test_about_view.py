"""About me: everything that is known of a person, and nothing of another one."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.addons.page.served_page import ServedPage
from tests.scenarios.outside import Outside
from vault_memory.addons.page.views.about_view import MOST_SENTENCES, sentences_of

MIRA = "Users/mira/lantern/config"
FORGET = re.compile(r'data-copy="(vault-memory forget --user [^"]*)"')


@pytest.mark.sampled
def test_everything_that_the_command_tells_is_on_the_page(page: ServedPage, tmp_path: Path) -> None:
    command = Outside(page.memory.root, tmp_path).ok("about", "mira")

    text = html.unescape(page.browser("mira").get("/about").text)

    said = re.sub(r"<[^>]*>|\s+", " ", text)
    flat = re.sub(r"\s+", " ", said)
    assert "About mira" in flat
    for fact in command["facts"]:
        assert fact["object"] in flat
    for note in (*command["notes"], *command["recent"]):
        for group in sentences_of(note["text"]).groups:
            assert group.heading in flat
            for sentence in group.sentences:
                assert re.sub(r"\s+", " ", sentence.text) in flat


def test_a_sentence_has_its_days_its_certainty_and_its_source(own_page: ServedPage) -> None:
    note = own_page.memory.root / MIRA / "USER.md"
    line = (
        "- [plan] Paints the railing — “soon” (2026-04-20, ref:abc123, conf:0.7, until:2026-06-20)"
    )
    note.write_text(f"# Mira\n\n## Plans\n\n{line}\n", "utf-8")

    text = own_page.browser("mira").get("/about").text

    assert '<p class="quote">Paints the railing</p>' in text
    assert 'since <time datetime="2026-04-20">' in text
    assert 'until <time datetime="2026-06-20">' in text
    assert "70% certain" in text
    assert "said: “soon”" in text
    source = f"{MIRA}/USER.md:5".replace("/", "%2F").replace(":", "%3A")
    assert f'href="/source?ref={source}"' in text
    assert f'href="/note/{MIRA}/USER.md#line-5"' in text


def test_each_source_of_the_page_is_there(page: ServedPage) -> None:
    browser = page.browser("mira")
    text = browser.get("/about").text

    links = set(re.findall(r'href="(/source[^"]*)"', text))

    assert len(links) > 20
    for link in sorted(links)[::3]:
        assert browser.get(html.unescape(link)).status_code == 200


def test_only_items_that_can_be_addressed_have_a_source(own_page: ServedPage) -> None:
    note = own_page.memory.root / MIRA / "USER.md"
    note.write_text("# A\n\n- a\n\n### B\n\n- b\n\n## C\n\n- c\n\n### D\n\n- d\n")
    browser = own_page.browser("mira")

    links = re.findall(r'href="(/source[^"]*USER.md[^"]*)"', browser.get("/about").text)

    assert [link[-2:] for link in links] == ["11"]
    assert browser.get(html.unescape(links[0])).status_code == 200


def test_the_command_to_forget_forgets_what_it_stands_beside(own_page: ServedPage) -> None:
    memory = own_page.memory
    text = own_page.browser("mira").get("/about").text
    commands = [shlex.split(html.unescape(line)) for line in FORGET.findall(text)]

    for words in ("Learn enough Chinese to read a menu by autumn", "learns: Chinese"):
        [command] = [line for line in commands if line[-1] == words]
        forgotten = memory.forget(command[-1], scopes=["user:mira"], dry_run=True)
        assert command[:4] == ["vault-memory", "forget", "--user", "mira"]
        assert [place.count for place in forgotten.removed] == [1, 1]


@pytest.mark.sampled
def test_a_fact_is_ticked_as_right(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    text = browser.get("/about").text
    form = re.search(r'<form method="post" action="/facts/confirm".*?</form>', text, re.DOTALL)
    assert form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))

    answer = browser.post("/facts/confirm", {**fields, "to": fields["to"]})

    assert answer.headers["location"].startswith("/about?name=mira&done=")
    assert "(confirmed by a person)" in browser.get(answer.headers["location"]).text


def test_what_waits_for_more_turns_and_for_a_decision_is_shown(own_page: ServedPage) -> None:
    memory = own_page.memory
    op = {"op": "remove", "heading": "People", "match": "Tomas Cogg, inventor"}
    memory.apply(f"{MIRA}/USER.md", [op], source="tool")
    assert memory.inbox()

    text = own_page.browser("mira").get("/about").text

    waiting = text.partition("<h2>Waiting for a decision</h2>")[2]
    assert "remove from People" in waiting
    assert 'href="/inbox"' in waiting


@pytest.mark.sampled
def test_no_word_of_another_person_is_on_the_page(own_page: ServedPage) -> None:
    memory = own_page.memory
    op = {"op": "add_heading", "heading": "Secret", "lines": ["Hides plum brandy"]}
    memory.apply("Users/tomas/lantern/config/USER.md", [op], source="cli")
    remove = {"op": "remove", "heading": "Secret", "match": "Hides plum brandy"}
    memory.apply("Users/tomas/lantern/config/USER.md", [remove], source="tool")
    browser = own_page.browser("mira")

    own = browser.get("/about").text
    other = browser.get("/about?name=tomas").text
    absent = browser.get("/about?name=stranger").text

    assert "clockmaker" not in own + other
    assert "plum brandy" not in own + other
    assert "Waiting for a decision" not in other
    assert "All notes of" not in other + absent


@pytest.mark.sampled
def test_a_note_of_thousands_of_items_and_facts_stays_a_page(own_page: ServedPage) -> None:
    folder = own_page.memory.root / MIRA
    items = "".join(f"- a{number}\n" for number in range(3_000))
    facts = "".join(f"- likes: b{number}\n" for number in range(1_000))
    (folder / "USER.md").write_text(f"# Mira\n\n## Likes\n\n{items}", "utf-8")
    (folder / "FACTS.md").write_text(f"## mira\n\n{facts}", "utf-8")
    browser = own_page.browser("mira")

    about = browser.get("/about").text
    person = browser.get("/people/mira").text

    assert "only its beginning is here" in about
    assert about.count('<p class="quote">a') == MOST_SENTENCES
    assert "The first 100 of 1000" in about
    assert "The first 50 of 1000" in person
    assert max(len(about), len(person)) < 1_000_000


def test_with_several_people_one_is_chosen(page: ServedPage) -> None:
    browser = page.browser()

    assert 'href="/about?name=tomas"' in browser.get("/about").text
    assert "Keeper of the lighthouse" not in browser.get("/about?name=tomas").text
    assert "allergic to" in browser.get("/about?name=Tomas").text


def test_a_thing_shows_where_notes_name_it(page: ServedPage) -> None:
    text = page.browser("mira").get("/about?name=petrel").text

    assert "What the notes say of petrel" in text
    assert "supply boat" in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- \n- (ref:x)\n",
        "a\nb\n\n- c\n  d\n\n  e\n# f\n1. g\n",
        "```\n- x\n```\n\x00\u202e\n",
        "- [ ] milk\n- [x] bread\n",
    ],
)
def test_no_word_of_a_note_is_lost(text: str) -> None:
    said = json.dumps(
        [[group.heading, *group.sentences] for group in sentences_of(text).groups],
        ensure_ascii=False,
    )

    for word in re.findall(r"\w{1,9}", re.sub(r"^\d\.|\[[ x]\]", "", text, flags=re.M)):
        assert word in said
