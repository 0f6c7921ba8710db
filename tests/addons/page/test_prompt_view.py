"""The preview of a prompt: the very text of `context`, and nothing of other people."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.addons.page.served_page import Browser, ServedPage, serving_page
from tests.scenarios.outside import Outside
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.rules.paths.scopes import Caller

PROMPT = "where is the spare key?"
PART = re.compile(r'<details[^>]* class="part">.*?<pre>\n(.*?)</pre>', re.DOTALL)


def preview(browser: Browser, **query: str) -> str:
    answer = browser.get(f"/prompt?{urlencode(query)}")
    assert answer.status_code == 200
    return answer.text


def block(text: str) -> str:
    """The parts of the block together, as a browser has them; empty without a block."""
    _, _, parts = text.partition('<section id="block"')
    return html.unescape("".join(PART.findall(parts.partition("</section>")[0])))


@pytest.fixture
def twin(page: ServedPage, tmp_path: Path) -> Outside:
    """The command line, on the vault of the page."""
    return Outside(page.memory.root, tmp_path)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, ()),
        ({"budget": "3000"}, ("--budget", "3000")),
        ({"purpose": "briefing"}, ("--purpose", "briefing")),
        ({"session": "first"}, ("--session", "first")),
    ],
)
def test_the_block_is_the_one_that_the_command_prints(
    page: ServedPage, twin: Outside, query: dict[str, str], options: tuple[str, ...]
) -> None:
    text = preview(page.browser(), prompt=PROMPT, user="mira", **query)

    command = twin.run("context", "--user", "mira", *options, PROMPT)

    assert f"{block(text)}\n" == command.out


def test_a_channel_and_any_letters_give_the_block_of_the_command(
    page: ServedPage, twin: Outside
) -> None:
    prompt = 'it\'s -- "Greta" & 灯塔'
    for channel in ("", "fogbell"):
        scopes = Caller("tomas", channel).reads(page.memory.layout)
        options = [part for scope in scopes for part in f"--{scope}".split(":", 1)]

        text = preview(page.browser(), prompt=prompt, user="tomas", channel=channel)

        assert f"{block(text)}\n" == twin.run("context", *options, "--", prompt).out


def test_a_channel_does_not_get_what_is_a_persons_own(page: ServedPage) -> None:
    private = preview(page.browser(), prompt=PROMPT, user="mira")
    shared = preview(page.browser(), prompt=PROMPT, user="mira", channel="harbour")

    assert "behind the barometer" in block(private)
    assert "Only Mira reads the answer" in private
    assert "behind the barometer" not in block(shared)
    assert "so what is Mira’s own stays out" in shared


def test_the_parts_add_up_and_the_budget_is_kept(page: ServedPage) -> None:
    text = preview(page.browser(), prompt=PROMPT, user="mira", budget="2500")

    shown = block(text)
    assert len(shown) <= 2500
    assert f"{len(shown):,} of 2,500 characters" in text
    widths = [int(width) for width in re.findall(r'<rect x="\d+" width="(\d+)"', text)]
    assert sum(widths) == len(shown)
    assert "<h3>Left out</h3>" in text


def test_each_part_has_a_heading(page: ServedPage) -> None:
    text = preview(page.browser(), prompt=PROMPT, user="mira")

    titles = re.findall(r'class="part"><summary>([^<]*) <', text)
    assert titles == ["Introduction", "Profile", "Facts", "Rules", "Last days", "Recalled"]


def test_a_person_of_whom_nothing_is_known_has_notes_to_ask_for(own_page: ServedPage) -> None:
    note = own_page.memory.root / "Users/ines/memories/bread.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Bread\n\n- Rye bread needs a night to rise\n", "utf-8")
    browser = own_page.browser("ines")

    empty = preview(browser, user="ines")
    question = preview(browser, user="ines", prompt="how long does rye bread rise?")

    assert re.search(r"The bot knows nothing of Ines yet: \d+ notes? are recalled", empty)
    assert "needs a night to rise" in block(question)


def test_a_hook_gets_fewer_lines(page: ServedPage) -> None:
    prompt = "is the key in the lamp room?"
    asked = preview(page.browser(), prompt=prompt, user="mira")
    hooked = preview(page.browser(), prompt=prompt, user="mira", automatic="1")

    lines = [len(re.findall(r"^\[Users/", block(text), re.MULTILINE)) for text in (asked, hooked)]
    assert lines[0] > lines[1] > 0
    assert "vault-memory context" not in hooked


@pytest.mark.parametrize("name", ["tomas", "nobody"])
def test_another_person_is_as_unknown_as_no_person(page: ServedPage, name: str) -> None:
    browser = page.browser("mira")

    answer = browser.get(f"/prompt?user={name}")

    assert answer.status_code == 404
    assert answer.text.replace(name, "X") == browser.get("/prompt?user=stranger").text.replace(
        "stranger", "X"
    )


@pytest.mark.parametrize("channel", ["fogbell", "nowhere"])
def test_the_channels_of_others_cannot_be_previewed(page: ServedPage, channel: str) -> None:
    answer = page.browser("mira").get(f"/prompt?user=mira&channel={channel}")

    assert answer.status_code == 404


def test_no_word_of_another_person_is_in_the_preview(page: ServedPage) -> None:
    text = preview(page.browser("mira"), prompt="walnuts clockmaker Greta Russian chess")

    assert "tomas" not in text
    assert "clockmaker" not in block(text)


@pytest.mark.sampled
@pytest.mark.parametrize("budget", ["many", "-1", "1e9", "٣", "9" * 5000])
def test_a_budget_that_is_no_number_is_explained(page: ServedPage, budget: str) -> None:
    answer = page.browser().get(f"/prompt?{urlencode({'budget': budget})}")

    assert answer.status_code == 400
    assert "a budget is a number of characters" in answer.text


def test_hidden_letters_are_shown_beside_the_exact_text(own_page: ServedPage) -> None:
    note = own_page.memory.root / "Users/mira/lantern/config/USER.md"
    note.write_text("# Mira\n\n- Likes \u202eaet\u202c tea\n", "utf-8")

    text = preview(own_page.browser(), user="mira")

    assert "\u202eaet\u202c" in block(text)
    assert "⟨U+202E⟩aet⟨U+202C⟩" in text
    assert "letters that cannot be seen" in text


@pytest.fixture
def empty_page(tmp_path: Path) -> Iterator[ServedPage]:
    (tmp_path / "empty").mkdir()
    with VaultMemory.open(tmp_path / "empty") as memory, serving_page(memory) as served:
        yield served


def test_an_empty_vault_says_what_to_do_next(empty_page: ServedPage) -> None:
    answer = empty_page.browser().get("/prompt")

    assert answer.status_code == 200
    assert "The bot knows nothing yet" in answer.text
    assert '<a class="button" href="/">Tell it something</a>' in answer.text
