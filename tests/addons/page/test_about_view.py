"""Memory: everything that is known of a person, and nothing of another one."""

import html
import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.addons.page.served_page import ServedPage
from tests.scenarios.outside import Outside
from vault_memory.addons.page.views.about_view import MOST_ROWS, sentences_of

MIRA = "Users/mira/lantern/config"
ROW = re.compile(r'<li class="row".*?</li>', re.DOTALL)


def row_of(text: str, words: str) -> str:
    """The row of a view that says this."""
    [row] = [row for row in ROW.findall(text) if words in html.unescape(row)]
    return row


def plain(text: str) -> str:
    """What a reader sees of HTML."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


@pytest.mark.sampled
def test_everything_that_the_command_tells_is_on_the_page(page: ServedPage, tmp_path: Path) -> None:
    command = Outside(page.memory.root, tmp_path).ok("about", "mira")

    flat = plain(page.browser("mira").get("/about").text)

    assert "Mira" in flat
    for fact in command["facts"]:
        assert fact["object"] in flat
    for note in (*command["notes"], *command["recent"]):
        for group in sentences_of(note["text"]).groups:
            for sentence in group.sentences:
                assert re.sub(r"\s+", " ", sentence.words) in flat


def test_a_row_has_its_days_its_certainty_and_its_menu(own_page: ServedPage) -> None:
    note = own_page.memory.root / MIRA / "USER.md"
    line = (
        "- [plan] Paints the railing — “soon” (2026-04-20, ref:abc123, conf:0.7, until:2026-06-20)"
    )
    note.write_text(f"# Mira\n\n## Plans\n\n{line}\n", "utf-8")

    row = row_of(own_page.browser("mira").get("/about").text, "Paints the railing")

    assert '<p class="text">Paints the railing</p>' in row
    meta = "you said it · Mon 20 Apr · until Sat 20 Jun · 70% certain · “soon”"
    assert meta in re.sub(r" 20\d\d", "", plain(row))
    source = f"{MIRA}/USER.md:5".replace("/", "%2F").replace(":", "%3A")
    assert f'href="/source?ref={source}"' in row
    menu = ["Edit", "Remove", "Where it comes from", "Forget for good…"]
    assert re.findall(r">([^<>]+)</(?:a|button)>", row) == menu


def test_a_fact_has_its_menu(page: ServedPage) -> None:
    row = row_of(page.browser("mira").get("/about").text, "Learns Chinese")

    menu = ["Edit", "Still true", "No longer true", "Never true", "Where it comes from"]
    assert re.findall(r">([^<>]+)</(?:a|button)>", row) == [*menu, "Forget for good…"]


def test_a_line_is_edited_in_its_row_without_scripts(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    row = row_of(browser.get("/about").text, "Drinks her coffee black")
    edit = re.search(r'href="(/about[^"]*edit=[^"]*)"', row)
    assert edit

    view = browser.get(html.unescape(edit[1])).text
    form = re.search(r'<form method="post" action="/note/change">.*?</form>', view, re.DOTALL)
    assert form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', html.unescape(form[0])))
    answer = browser.post("/note/change", {**fields, "line": "Drinks tea"})

    assert answer.headers["location"].startswith("/about?name=mira&done=")
    after = browser.get(answer.headers["location"]).text
    assert "Drinks tea" in after
    assert "Drinks her coffee" not in plain(row_of(after, "Drinks tea"))


def test_a_line_is_removed_from_its_menu(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    text = browser.get("/about").text
    row = row_of(text, "Drinks her coffee black")
    button = re.search(r'<button form="([^"]*)" formaction="(.*?)" name="match" value="(.*?)"', row)
    assert button
    form = re.search(rf'<form method="post" id="{button[1]}">.*?</form>', text, re.DOTALL)
    assert form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', html.unescape(form[0])))

    answer = browser.post(button[2], {**fields, "match": html.unescape(button[3])})

    assert answer.headers["location"].startswith("/about?name=mira&done=")
    assert "coffee black" not in (own_page.memory.root / MIRA / "USER.md").read_text("utf-8")


def test_each_source_of_the_page_is_there(page: ServedPage) -> None:
    browser = page.browser("mira")
    text = browser.get("/about").text

    links = set(re.findall(r'href="(/source[^"#]*)"', text))

    assert len(links) > 20
    for link in sorted(links)[::3]:
        assert browser.get(html.unescape(link)).status_code == 200


def test_only_items_that_can_be_addressed_have_a_source(own_page: ServedPage) -> None:
    note = own_page.memory.root / MIRA / "USER.md"
    note.write_text("# A\n\n- a\n\n### B\n\n- b\n\n## C\n\n- c\n\n### D\n\n- d\n")
    browser = own_page.browser("mira")

    links = re.findall(r'href="(/source[^"#]*USER.md[^"#]*)"', browser.get("/about").text)

    assert [link[-2:] for link in links] == ["11"]
    assert browser.get(html.unescape(links[0])).status_code == 200


def test_the_command_to_forget_forgets_what_it_stands_beside(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    text = browser.get("/about").text

    for words in ("Learn enough Chinese to read a menu by autumn", "Learns Chinese"):
        link = re.search(r'href="([^"]*)#forget"', row_of(text, words))
        assert link
        view = browser.get(html.unescape(link[1])).text
        [line] = re.findall(r'data-copy="(vault-memory forget [^"]*)"', view)
        command = shlex.split(html.unescape(line))
        forgotten = own_page.memory.forget(command[-1], scopes=["user:mira"], dry_run=True)
        assert command[:4] == ["vault-memory", "forget", "--user", "mira"]
        assert [place.count for place in forgotten.removed] == [1, 1]


@pytest.mark.sampled
def test_a_fact_is_ticked_as_right(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    text = browser.get("/about").text
    button = re.search(r'formaction="/facts/confirm" name="id" value="(\w+)"', text)
    assert button

    fields = {"id": button[1], "to": "/about?name=mira"}
    answer = browser.post("/facts/confirm", fields)

    assert answer.headers["location"].startswith("/about?name=mira&done=")
    assert "confirmed" in plain(browser.get(answer.headers["location"]).text)


def test_what_waits_for_more_turns_is_shown(own_page: ServedPage) -> None:
    memory = own_page.memory
    evening = datetime.now(UTC) - timedelta(days=2)
    said = {"session": "talk", "role": "user", "user": "mira"}
    memory.record_turn(**said, text="I hate myself and my snoring.", now=evening)
    memory.sleep(now=evening + timedelta(days=1))
    assert memory.learning.held(["user:mira"])

    text = own_page.browser("mira").get("/about").text

    assert "Not sure yet (1)" in text
    assert "snoring" in row_of(text, "I hate myself")


def test_a_channel_has_its_memory(page: ServedPage) -> None:
    browser = page.browser()

    text = browser.get("/about?channel=harbour").text

    assert "<h1>#harbour</h1>" in text
    assert 'aria-current="page">#harbour</a>' in text
    assert "Tell the bot something about #harbour" in text
    assert browser.get("/about?channel=nowhere").status_code == 404
    assert page.browser("tomas").get("/about?channel=harbour").status_code == 404


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
    assert "notes of" not in other + absent


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

    assert "The note has more" in about
    assert about.count('<p class="text">a') == MOST_ROWS
    assert "960 more</a>" in about
    assert ">More</a>" in person
    assert max(len(about), len(person)) < 200_000


def test_with_several_people_one_is_chosen(page: ServedPage) -> None:
    browser = page.browser()

    assert 'href="/about?name=tomas"' in browser.get("/about").text
    assert "Keeper of the lighthouse" not in browser.get("/about?name=tomas").text
    assert "allergic to" in browser.get("/about?name=Tomas").text


def test_a_thing_shows_where_notes_name_it(page: ServedPage) -> None:
    browser = page.browser("mira")

    answer = browser.get("/about?name=petrel")

    assert answer.status_code == 303
    assert "supply boat" in browser.get(answer.headers["location"]).text


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
