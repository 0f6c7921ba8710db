"""Hostile notes, made at random: what a browser gets holds nothing that the page did not write."""

import re
from urllib.parse import quote

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.addons.page.markup import Markup
from tests.effort import few
from vault_memory.addons.page.markdown import raw_html, render
from vault_memory.addons.page.note_html.hidden_letters import HIDDEN

TAGS = set(
    "a blockquote br code details em h2 h3 h4 h5 h6 hr li ol p pre s span strong"
    " summary table tbody td th thead tr ul".split()
)
ATTRIBUTES = {"class", "data-info", "data-line", "href", "id", "rel", "start", "title"}
CLASSES = {"center", "definition", "image", "left", "mark", "properties", "right"}
URL = re.compile(r"https?://[!-~]+|mailto:[!-~]+|#h-[^\s]*|/note/[!-~]*(#h-[^\s]*)?", re.I)

FRAGMENTS = [
    *"\n \t * _ ~ ` [ ] ( ) ! < > # - + | : \\ & ; \" ' = { } / . 1. @ ^ $ %".split(" "),
    *["", "\n\n", "\r\n", "\r", "    ", "\n- ", "\n\n- ", "\n  - ", "\n1. ", "\n> ", "\n# "],
    *["\n## ", "\n---\n", "\n===\n", "---\n", "\n...\n", "```", "~~~", "~~", "**"],
    *["- [ ] ", "- [x] ", "\n| a | b |\n|---|:-:|\n| ", " | ", "|-|", "[[", "]]"],
    *["](", "![", "[a]: ", "\n[a]: ", "[//]: # (", '"', "<script>", "</code></pre>"],
    *["<img src=x onerror=alert(1)>", "<!--", "-->", "<a href='javascript:1'>", "<?"],
    *["javascript:", "JaVaScRiPt:", "java\tscript:", "java\nscript:", "&#106;avascript:"],
    *["javascript&colon;", "java&Tab;script:", "&NewLine;", "vbscript:", "data:text/html,"],
    *["file:///etc/passwd", "//evil.example", "\\\\evil.example", "/\\evil", "\x01//", "blob:"],
    *["http://a.example/", "HTTPS://B.example/?q=", "mailto:a@b.example", "<http://c.example>"],
    *["http:evil", "http:/evil", "https://", "#part", "#", "Bo.md", "../x.md#y", "%2f%2f", "%00"],
    *['" onmouseover="x', "' x='", "\0", "\x0b", "\x7f", "\x85", "\u200b", "\u200d", "\u202e"],
    *["\u2066", "\u2028", "\ufeff", "\ufe0f", "\U000e0041", "\ud800", "\udfff", "\uffff", "👩‍🔬"],
    *["&amp;", "&lt;script&gt;", "&#x202e;", "&#0;", "\u05d0", "{{7*7}}", "{% x %}", "h-a", "é"],
]
WORD = re.compile(r"q\d+q")
words = st.integers(0, 30).map("q{}q".format)
fragments = st.one_of(words, words, st.sampled_from(FRAGMENTS), st.text(max_size=4))
notes = st.lists(fragments, max_size=40).map("".join)


def note_url(target: str) -> str | None:
    """Every target can be opened, but for those with an even number."""
    number = re.search(r"\d+", target)
    is_there = number is None or int(number[0]) % 2
    return f"/note/{quote(target, errors='replace')}" if is_there else None


def rendered(note: str) -> str:
    return render(note, note_url, clock=lambda: 0.0)


@settings(max_examples=few(2000))
@example("---\n\n---\n")
@example("---\ntitle: Boat\n---\n# Boat\n")
@given(notes)
def test_a_browser_gets_only_tags_attributes_and_schemes_of_the_page(note: str) -> None:
    html = rendered(note)

    page = Markup(html)
    assert {element.tag for element in page.elements} <= TAGS
    names = {name for element in page.elements for name in element.attributes}
    assert names <= ATTRIBUTES
    assert set(page.values("class")) <= CLASSES
    assert all(URL.fullmatch(url) for url in page.values("href"))
    assert all(line.isdigit() for line in page.values("data-line"))
    assert len(page.values("id")) == len(set(page.values("id")))
    assert all(name.startswith(("h-", "line-")) for name in page.values("id"))


@settings(max_examples=few(2000))
@given(notes)
def test_no_letter_reaches_a_browser_that_nobody_sees(note: str) -> None:
    for html in (rendered(note), raw_html(note)):
        html.encode()
        assert not HIDDEN.search(html)


@settings(max_examples=few(2000))
@given(notes)
def test_no_word_of_a_note_is_hidden_from_the_reader(note: str) -> None:
    html = rendered(note)

    assert set(WORD.findall(note)) <= set(WORD.findall(html))
    assert set(WORD.findall(note)) <= set(WORD.findall(raw_html(note)))
