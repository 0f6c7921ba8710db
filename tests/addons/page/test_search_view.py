"""Search: a card a note, its lines with the words marked, and what was only alike below them."""

import html
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.addons.page.served_page import ServedPage
from tests.every import every
from vault_memory.addons.page.views.search_views import marked
from vault_memory.addons.page.wording import day
from vault_memory.search.matched_words import MatchedWords

CARD = re.compile(r"<article .*?</article>", re.DOTALL)
CONFIG = "Users/mira/lantern/config"


def found(page: ServedPage, query: str = "spare key", **fields: object) -> str:
    answer = page.browser().get(f"/search?{urlencode({'q': query, **fields})}")
    assert answer.status_code == 200
    return answer.text


def cards(text: str) -> list[str]:
    return CARD.findall(text)


def write(page: ServedPage, note: str, text: str) -> None:
    path: Path = page.memory.root / note
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@every(
    ("text", "query", "shown"),
    [
        ("The spare keys", "key", "The spare <mark>keys</mark>"),
        ("in the Café", "cafe", "in the <mark>Café</mark>"),
        ("C, C# and C++", "C#", "C, <mark>C#</mark> and C++"),
        ("lock-keeper's house", "keeper", "<mark>lock-keeper&#39;s</mark> house"),
        ("我们在北京都住了三天", "北京都", "我们在<mark>北京都</mark>住了三天"),
        ("我们在北京住了", "京", "我们在北<mark>京</mark>住了"),
        ("iPhone東京", "iphone", "<mark>iPhone</mark>東京"),
        (
            "<script>key</script> & <mark>",
            "key",
            "&lt;script&gt;<mark>key</mark>&lt;/script&gt; &amp; &lt;mark&gt;",
        ),
        ('" onmouseover="x key', "onmouseover", "&#34; <mark>onmouseover</mark>=&#34;x key"),
        ("key \u202eyek", "key", "<mark>key</mark> ⟨U+202E⟩yek"),
        ("k\u200bey key", "key", "k⟨U+200B⟩ey <mark>key</mark>"),
        ("{{7*7}} key", "key", "{{7*7}} <mark>key</mark>"),
        ("nothing <b>", "key", "nothing &lt;b&gt;"),
    ],
)
def test_matched_words_are_marked_and_nothing_else_is_html(
    text: str, query: str, shown: str
) -> None:
    assert marked(text, MatchedWords(query)) == shown


def test_a_long_line_is_cut_around_its_first_word() -> None:
    shown = marked(f"{'before ' * 90}the key {'after ' * 90}", MatchedWords("key"))

    assert shown.startswith("…before")
    assert "the <mark>key</mark> after" in shown
    assert shown.endswith("…")
    assert len(shown) < 270
    assert len(marked("鍵" * 900, MatchedWords("鍵鍵"))) < 300


def test_a_card_has_the_lines_of_a_note_with_the_words(page: ServedPage) -> None:
    text = found(page)

    [card] = [card for card in cards(text) if f"/note/{CONFIG}/USER.md" in card]
    assert "<h2>Answers</h2>" in text
    assert "The <mark>spare</mark> <mark>key</mark> of the lighthouse hangs" in card
    assert ">Profile</a>" in card
    # Lines beside those with the words are not in it.
    assert all("<mark>" in row for row in card.split('<li class="row">')[1:])
    for link in ("Edit", "Show in the note", "Where it comes from"):
        assert f">{link}</a>" in card


def test_at_most_ten_cards_with_three_lines(own_page: ServedPage) -> None:
    for number in range(12):
        lines = "\n".join(f"- The albatross flew round {number}-{line}" for line in range(7))
        write(own_page, f"memory/bird {number:02}.md", f"# Bird\n\n{lines}\n- Bird {number}\n")

    text = found(own_page, "albatross")

    assert len(cards(text)) == 10
    assert all(card.count('<li class="row">') <= 3 for card in cards(text))
    assert "4 more in this note" in text
    [more] = re.findall(r'href="([^"]*)">More notes', text)
    rest = own_page.browser().get(html.unescape(more)).text
    assert len(cards(rest)) == 2
    whole = re.findall(r'href="([^"]*)">4 more in this note', text)[0]
    [card] = cards(own_page.browser().get(html.unescape(whole)).text)
    assert card.count('<li class="row">') == 7


def test_words_that_no_note_has_are_no_answer(page: ServedPage) -> None:
    text = found(page, "xyzzyq")

    assert "No note has these words." in text
    assert "Answers" not in text


def test_a_fact_is_a_sentence_and_an_ended_one_is_earlier(page: ServedPage) -> None:
    text = found(page, "where does mira live")

    assert "<mark>Mira</mark> <mark>lives</mark> in the keeper" in text
    earlier = text.partition("<h2>Earlier</h2>")[2]
    assert "<s><mark>Mira</mark> <mark>lives</mark> in Ostervik</s>" in earlier


def test_filters_narrow_the_search(page: ServedPage) -> None:
    everybody = found(page, "mira")
    of_mira = found(page, "mira", whose="Mira")
    of_channel = found(page, "mira", whose="#fogbell")

    assert "/note/Channels/fogbell/" in everybody
    assert "/note/Channels/" not in of_mira
    assert of_mira.count("<option selected>Mira</option>") == 1
    assert "/note/Users/" not in of_channel
    assert f"/note/{CONFIG}/FACTS.md" in found(page, "mira", kind="facts")
    assert f"/note/{CONFIG}/USER.md" not in found(page, "mira", kind="facts")
    since = found(page, "mira", since="2026-05-01")
    assert day("2026-05-01") in since
    assert f"/note/{CONFIG}/FACTS.md" not in since
    for time in ("week", "month", "year"):
        assert f'<option value="{time}" selected>' in found(page, "mira", time=time)


@pytest.mark.parametrize("whose", ["Tomas", "#fogbell"])
def test_the_notes_of_others_are_as_unknown_as_those_of_nobody(
    page: ServedPage, whose: str
) -> None:
    browser = page.browser("mira")

    text = browser.get(f"/search?{urlencode({'q': 'mira', 'whose': whose})}").text

    assert cards(text) == []
    assert f">{whose}</option>" not in text


@pytest.mark.parametrize("field", ["time=x", "start=-1", "start=x", "kind=x", "since=someday"])
def test_a_filter_that_is_none_is_explained(page: ServedPage, field: str) -> None:
    assert page.browser().get(f"/search?q=key&{field}").status_code == 400


@every("query", ["{{7*7}}", "<b>", '"', "*", "a" * 60_000, "\u202e", "京" * 2_000, "NEAR(", "\x00"])
def test_any_query_is_answered(page: ServedPage, query: str) -> None:
    assert "<b>" not in found(page, query[:6_000])
