"""What one person keeps is in no view of another: each place of a vault, and each view.

`test_events` has the stream of changes.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from tests.addons.page.served_page import Browser, ServedPage, serving_page
from tests.http.conftest import opened
from vault_memory.addons.connector.grants import ConnectedProgram, Grants, MemoryAddress
from vault_memory.addons.page.page_routes import ROUTES
from vault_memory.api.vault_memory import VaultMemory

EVENING = datetime(2026, 5, 26, 20, 0, tzinfo=UTC)
WORDS = {"mira": "velleda", "tomas": "zorblax"}
"""Person → the word that all of their own texts have"""
NO_WORD = "qwertyu"
NIGHTS = {"mira": "2026-05-27", "tomas": "2026-06-03"}
WITHOUT_WORDS = {
    *("/conflicts", "/connection", "/doctor", "/nights"),
    *("/search", "/setup", "/source", "/sync"),
}
"""Views that show no text of a note or lead to another one, and those that wait for a question"""
PERSONS = [("mira", "tomas"), ("tomas", "mira")]
"""Who looks, and whose things they may not see"""


@dataclass(frozen=True)
class Belongings:
    """The things of one person, by the names that an address has for them."""

    user: str
    word: str
    note: str
    record: str
    fact: str
    proposal: str
    conflict: str
    thrown: str
    turn: str
    revision: str
    night: str


def fill(memory: VaultMemory, user: str) -> Belongings:
    """Puts the person's word into each place that a view shows."""
    word = WORDS[user]
    folder = f"Users/{user}"
    note = f"{folder}/lantern/config/USER.md"
    moment = EVENING + timedelta(weeks=list(WORDS).index(user))
    turn = memory.record_turn(
        session=f"of-{word}",
        role="user",
        user=user,
        text=f"I am allergic to {word}berries.",
        now=moment,
    )
    assert turn.id
    memory.sleep(scopes=[f"user:{user}"], now=moment + timedelta(hours=10))
    lines = [f"Keeps a {word} lamp", f"Feeds a {word} cat"]
    op = {"op": "add_heading", "heading": f"The {word} evenings", "lines": lines}
    edit = memory.apply(note, [op], source="cli", why=f"{word} asked")
    revision = memory.history(note)[-1].revision
    fact = memory.add_fact(
        f"{word} ship", "carries", f"{word} oil", scope=f"user:{user}", ref=turn.id
    )
    removal = {"op": "remove", "heading": f"The {word} evenings", "match": lines[1]}
    proposed = memory.apply(note, [removal], source="tool", why=f"{word} is gone")
    draft = f"{folder}/memories/{word}-draft.md"
    memory.edits.edit_text(draft, {"op": "create", "file_text": f"- a {word} draft\n"})
    memory.edits.edit_text(draft, {"op": "delete"})
    diary = memory.root / folder / f"memories/{word}-diary.md"
    diary.write_text(f"# A {word} diary\n\n- a {word} sail\n", "utf-8")
    copy = diary.with_name(f"{word}-diary.sync-conflict-20260526-120000-ABCDEFG.md")
    copy.write_text(f"# A {word} diary\n\n- two {word} sails\n", "utf-8")
    memory.index(embed=False)
    program = ConnectedProgram(word, f"A {word} helper", "localhost")
    Grants(memory.vault.state.path).open(
        program, MemoryAddress(user, "https://memory.example.org/mcp")
    )
    assert edit.audit_id
    return Belongings(
        user=user,
        word=word,
        note=f"{folder}/memories/{word}-diary.md",
        record=edit.audit_id,
        fact=fact.id,
        proposal=proposed.proposed[0].id,
        conflict=next(each.id for each in memory.conflicts() if word in each.path),
        thrown=next(each.id for each in memory.conflicts.trash() if each.note == draft),
        turn=turn.id,
        revision=revision,
        night=NIGHTS[user],
    )


@dataclass(frozen=True)
class TwoPeople:
    """A page of a vault in which two people keep things."""

    page: ServedPage
    things: dict[str, Belongings]
    browsers: dict[str, Browser]


@pytest.fixture(scope="module")
def two_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoPeople]:
    with ExitStack() as stack:
        memory = opened(tmp_path_factory.mktemp("two-people"), stack)
        things = {user: fill(memory, user) for user in WORDS}
        page = stack.enter_context(serving_page(memory))
        browsers = {user: page.browser(user) for user in WORDS}
        yield TwoPeople(page, things, browsers)


def _absent(text: str) -> str:
    """A name of the same length and form for which there is nothing."""
    for word in WORDS.values():
        text = text.replace(word, NO_WORD)
    end = "1111" if text.endswith("0000") else "0000"
    return text if NO_WORD in text else text[:-4] + end


def _addresses(things: Belongings) -> dict[str, list[tuple[str, str]]]:
    """The path of each view with fields → its form, and the name that it asks for."""
    note = things.note
    user_note = f"Users/{things.user}/lantern/config/USER.md"
    refs = [things.turn, things.fact, things.record, things.proposal, f"{note}:3"]
    ids = [things.record, things.fact, things.proposal, things.turn]
    return {
        "/": [("/?done={}", name) for name in ids],
        "/search": [("/search?q={}", things.word)],
        "/prompt": [
            ("/prompt?prompt={}", things.word),
            ("/prompt?prompt=lamp&session={}", f"of-{things.word}"),
        ],
        "/log": [
            ("/log?note={}", note),
            ("/log?id={}", things.record),
            ("/log?before={}", things.record),
        ],
        "/nights": [],
        "/nights/{night}": [("/nights/{}", things.night)],
        "/people": [("/people?q={}", things.word)],
        "/people/{name}": [("/people/{}", f"{things.word} ship")],
        "/about": [("/about?name={}", f"{things.word} ship")],
        "/source": [("/source?ref={}", ref) for ref in refs],
        "/facts": [("/facts?entity={}", f"{things.word} ship")],
        "/inbox": [("/inbox?done={}", things.proposal)],
        "/conflicts": [("/conflicts?done={}", things.record)],
        "/conflicts/{id}": [("/conflicts/{}", things.conflict)],
        "/trash": [("/trash?restored={}", note)],
        "/setup": [],
        "/notes": [("/notes?scope={}", f"user:{things.word}")],
        "/note/{note}": [("/note/{}", note)],
        "/edit/{note}": [("/edit/{}", note)],
        "/history/{note}": [
            ("/history/{}", note),
            (f"/history/{user_note}?from={{}}", things.revision),
        ],
        "/connection": [("/connection?id={}", things.record)],
        "/connections": [("/connections?done={}", things.record)],
        "/sync": [],
        "/doctor": [],
    }


def _plain_paths(things: Belongings) -> list[str]:
    """The views as one opens them from the navigation, and those of the person."""
    plain = [route.path for route in ROUTES if route.method == "GET"]
    return [
        *(path for path in plain if "{" not in path),
        f"/prompt?user={things.user}&prompt=lamp",
        f"/about?name={things.user}",
        f"/facts?entity={things.user}",
        f"/people/{things.user}",
        f"/source?ref={things.turn}",
        f"/nights/{things.night}",
        f"/conflicts/{things.conflict}",
        f"/search?q={things.word}",
        "/search?q=lamp",
        f"/history/Users/{things.user}/lantern/config/USER.md",
        f"/note/{things.note}",
        f"/edit/{things.note}",
    ]


@pytest.mark.sampled
def test_each_view_is_asked_for_the_things_of_another_person(two_people: TwoPeople) -> None:
    addresses = _addresses(two_people.things["mira"])

    assert set(addresses) == {route.path for route in ROUTES if route.method == "GET"}


@pytest.mark.sampled
@pytest.mark.parametrize(("looks", "owns"), PERSONS)
def test_no_view_shows_what_another_person_keeps(
    two_people: TwoPeople, looks: str, owns: str
) -> None:
    own, foreign = two_people.things[looks], two_people.things[owns]
    browser = two_people.browsers[looks]

    answers = {path: browser.get(path) for path in _plain_paths(own)}

    ids = (foreign.record, foreign.fact, foreign.proposal, foreign.conflict)
    places = (f"users/{owns}/", f"user:{owns}", foreign.night)
    secrets = (foreign.word, foreign.turn, foreign.thrown, *ids, *places)
    leaks = [
        (path, secret)
        for path, answer in answers.items()
        for secret in secrets
        if secret in answer.text.lower()
    ]
    assert leaks == []


@pytest.mark.sampled
@pytest.mark.parametrize("user", WORDS)
def test_each_view_shows_the_person_what_is_their_own(two_people: TwoPeople, user: str) -> None:
    """Otherwise the word would be missing from the views of others for no reason."""
    own = two_people.things[user]
    browser = two_people.browsers[user]

    texts = {path: browser.get(path).text.lower() for path in _plain_paths(own)}

    missing = {path for path, text in texts.items() if own.word not in text}
    assert missing == WITHOUT_WORDS
    assert user in texts["/nights"]


@pytest.mark.sampled
@pytest.mark.parametrize(("looks", "owns"), PERSONS)
def test_what_is_anothers_is_as_absent_as_what_does_not_exist(
    two_people: TwoPeople, looks: str, owns: str
) -> None:
    browser = two_people.browsers[looks]

    differing = []
    for addresses in _addresses(two_people.things[owns]).values():
        for form, name in addresses:
            absent = _absent(name)
            foreign = browser.get(form.format(quote(name)))
            missing = browser.get(form.format(quote(absent)))
            shown = _without(foreign.text, name), foreign.status_code
            if shown != (_without(missing.text, absent), missing.status_code):
                differing.append((form, name))

    assert differing == []


def _without(text: str, name: str) -> str:
    """An answer without the name that was asked for."""
    for word in (name, *WORDS.values()):
        text = text.replace(word, NO_WORD)
    return text
