"""What a person sees of a note on the page."""

from contextlib import suppress
from time import thread_time

import pytest

from tests.addons.page.markup import Markup
from tests.effort import some
from vault_memory.addons.page.markdown import TooLong, raw_html, render, title_of

NOTES = {"Bo": "/note/people/bo.md", "people/bo.md": "/note/people/bo.md"}
AT_ONCE = 1.5
"""CPU seconds: the limit of one second, and what a single step takes beyond it"""


def shown(note: str) -> str:
    return render(note, NOTES.get)


def page_of(note: str) -> Markup:
    return Markup(shown(note))


def seconds_for(note: str) -> float:
    start = thread_time()
    with suppress(TooLong):
        shown(note)
    return thread_time() - start


def links(note: str) -> list[tuple[str, str]]:
    return [
        (link.attributes["href"], link.attributes.get("rel", "")) for link in page_of(note).all("a")
    ]


# --- Reading ----------------------------------------------------------------------------------


def test_headings_leave_the_first_level_to_the_page() -> None:
    page = page_of("# Ann\n\n## Work\n\n###### Deep\n")

    assert [element.tag for element in page.elements] == ["h2", "h3", "h6"]


def test_headings_with_the_same_words_can_each_be_linked() -> None:
    ids = page_of("# A\n# A-1\n# A\n# A\n").values("id")

    assert ids == ["h-a", "h-a-1", "h-a-2", "h-a-3"]


def test_tasks_are_shown_as_boxes() -> None:
    text = page_of("- [ ] call Bo\n- [x] paint\n- [relationship] sister\n").text

    assert text.split("\n")[:3] == ["☐ call Bo", "☑ paint", "[relationship] sister"]


def test_brackets_within_an_item_are_no_task() -> None:
    assert page_of("- answer [x] below\n").text.strip() == "answer [x] below"


def test_front_matter_is_not_a_heading() -> None:
    page = page_of("---\ntitle: Ann\n---\ntext\n")

    tags = [element.tag for element in page.elements]
    assert tags == ["details", "summary", "pre", "code", "p"]
    assert "title: Ann" in page.text


def test_a_title_is_the_heading_above_all_else() -> None:
    assert title_of("---\ntags: a\n---\n\n# The *old* [[Bo|boat]]\n") == "The old boat"
    for text in ("", "text\n\n# Late\n", "## Second\n", "# \n", "#\n", "```\n# no\n```\n"):
        assert title_of(text) == "", text


def test_a_title_that_the_view_has_is_not_shown_again() -> None:
    html = render("---\na: b\n---\n# Tides\n\n## High\n\ntwelve\n", NOTES.get, with_title=False)

    page = Markup(html)
    assert "Tides" not in page.text
    assert [element.tag for element in page.elements][-2:] == ["h2", "p"]
    assert 'data-line="8"' in html


def test_what_is_beside_an_edited_item_takes_the_place_of_its_text() -> None:
    beside = {1: "<b>first</b>", 2: "<b>form</b>", 3: "<b>third</b>"}

    page = Markup(render("- one\n- two\n  - three\n", NOTES.get, beside=beside, edited=2))

    assert page.text.split() == ["onefirst", "formthreethird"]


def test_a_callout_says_what_it_is() -> None:
    for text in ("> [!warning] Ice\n", "> [!WARNING]- Ice\n", "> [!warning]\n> Ice\n"):
        assert page_of(text).text.split() == ["Warning:", "Ice"], text


def test_an_embedded_note_is_a_link() -> None:
    page = page_of("![[Bo#Last words]]\n")

    assert page.text.strip() == "Bo › Last words"
    assert page_of("![[Nobody]]\n").text.strip() == "![[Nobody]]"


def test_tables_are_tables_without_styles() -> None:
    page = page_of("| a | b |\n|:--|--:|\n| 1 | 2 |\n")

    assert [cell.attributes for cell in page.all("td")] == [{"class": "left"}, {"class": "right"}]


def test_each_item_and_paragraph_names_its_line_in_the_note() -> None:
    note = "---\nx: y\n---\n\n# Head\n\n- one\n  - two\n\ntext\n"
    page = page_of(note)

    lines = note.split("\n")
    for tag, word in (("li", "- one"), ("h2", "# Head"), ("p", "text")):
        element = next(page.all(tag))
        assert lines[int(element.attributes["data-line"]) - 1] == word
    assert page.values("id") == ["h-head", "line-7", "line-8", "line-10"]


def test_each_line_can_be_linked_once() -> None:
    ids = page_of("- loose\n\n- items\n\n> quote\n").values("id")

    assert ids == ["line-1", "line-3", "line-5"]


def test_buttons_are_put_after_the_text_of_their_own_item() -> None:
    note = "- one\n  - two\n\n    more\n- three\n"

    html = render(note, NOTES.get, beside={1: "(A)", 2: "(B)", 5: "(C)"})

    text = " ".join(Markup(html).text.split())
    assert text == "one(A)two (B)more three(C)"


def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing() -> None:
    assert shown("\ufeff# A\r\n\r\n- b\r\n") == shown("# A\n\n- b\n")


# --- Links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "url"),
    [
        ("[[Bo]]", "/note/people/bo.md"),
        ("[[Bo|my brother]]", "/note/people/bo.md"),
        ("[[Bo#Old work]]", "/note/people/bo.md#h-old-work"),
        ("[Bo](people/bo.md)", "/note/people/bo.md"),
        ("[Bo](people/bo.md#Old%20work)", "/note/people/bo.md#h-old-work"),
        ("| a |\n|---|\n| [[Bo\\|x]] |", "/note/people/bo.md"),
        ("[[#Old work]]", "#h-old-work"),
        ("[x](#old-work)", "#h-old-work"),
    ],
)
def test_a_link_to_a_note_of_the_session_leads_there(note: str, url: str) -> None:
    assert links(note) == [(url, "")]


@pytest.mark.parametrize(
    ("note", "url"),
    [
        ("[x](https://a.example/b?c=d&e)", "https://a.example/b?c=d&e"),
        ("<HTTP://a.example>", "http://a.example"),
        ("<ann@a.example>", "mailto:ann@a.example"),
        ("[x][y]\n\n[y]: https://a.example", "https://a.example"),
        ("[x](https://bücher.example/ü)", "https://xn--bcher-kva.example/%C3%BC"),
    ],
)
def test_a_link_to_the_web_does_not_say_where_it_was_clicked(note: str, url: str) -> None:
    assert links(note) == [(url, "noreferrer nofollow")]


@pytest.mark.parametrize(
    "destination",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "javascript&colon;alert(1)",
        "java&Tab;script:alert(1)",
        "java&NewLine;script:alert(1)",
        "<java\tscript:alert(1)>",
        "<\x01javascript:alert(1)>",
        "<  javascript:alert(1)>",
        "vbscript:x",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example",
        "/\\\\evil.example",
        "\\\\\\\\evil.example",
        "http:evil.example",
        "http:///evil.example",
        "https://a.example/\u202egpj.exe",
    ],
)
def test_a_link_that_could_do_harm_stays_text(destination: str) -> None:
    html = render(f"[click]({destination})", lambda target: "/note/any.md")

    page = Markup(html)
    assert not list(page.all("a"))
    assert page.text.startswith("[click](")


@pytest.mark.parametrize("destination", ["/undo", "people/eve.md", "%23", "a%2f"])
def test_a_link_to_a_note_that_is_not_there_stays_text(destination: str) -> None:
    page = page_of(f"[click]({destination})")

    assert not list(page.all("a"))
    assert page.text.strip() == f"[click]({destination})"


def test_a_link_within_a_link_is_text() -> None:
    page = page_of("[see <http://a.example> ![[[Bo]]](y)](http://b.example)")

    assert page.values("href") == ["http://b.example"]
    assert page.text.strip() == "see <http://a.example> [image: Bo]"


def test_a_note_of_another_person_looks_like_one_that_is_not_there() -> None:
    assert page_of("see [[Eve]]").text.strip() == "see [[Eve]]"


@pytest.mark.parametrize("url", ["//evil", "/\\evil", "/\t/evil", "javascript:1", ""])
def test_an_address_that_browsers_read_as_another_server_is_no_link(url: str) -> None:
    html = render("[[Bo]] [x](bo.md)", lambda target: url)

    assert not list(Markup(html).all("a"))


@pytest.mark.sampled
def test_a_hostile_note_asks_for_a_bounded_number_of_notes() -> None:
    asked: list[str] = []

    render("".join(f"[[n{number}]]" for number in range(9000)), asked.append)

    assert len(asked) == 2000


# --- Nothing is loaded, and nothing hides -----------------------------------------------------


def test_an_image_is_named_and_never_loaded() -> None:
    page = page_of('![my *cat*](https://a.example/cat.png "Tom") ![](b.png)')

    assert page.text.strip() == "[image: my cat] [image: b.png]"
    assert not {"src", "href", "style"} & {
        name for element in page.elements for name in element.attributes
    }


def test_html_is_text() -> None:
    page = page_of("<script>x</script>\n\na <b onclick=x>b</b> <!-- c -->")

    assert [element.tag for element in page.elements] == ["p", "p"]
    assert "<!-- c -->" in page.text


@pytest.mark.parametrize("letter", ["\u202e", "\u2066", "\u200b", "\0", "\x1b", "\ufeff"])
def test_letters_that_nobody_sees_are_shown(letter: str) -> None:
    name = f"U+{ord(letter):04X}"
    note = f"a{letter}b `c{letter}` [d](#e{letter})\n\n```{letter}\n{letter}\n```\n"

    html = shown(note)

    assert letter not in html
    assert html.count(f'<span class="mark" title="{name}">⟨{name}⟩</span>') == 4


def test_a_letter_written_as_an_entity_is_shown_too() -> None:
    assert "⟨U+202E⟩" in page_of("&#x202e;").text


@pytest.mark.parametrize("text", ["👩‍🔬 ❤️ 1️⃣", "می‌خواهم", "क्‍ष", "葛󠄀"])
def test_emojis_and_scripts_that_need_joiners_stay_as_they_are(text: str) -> None:
    assert page_of(text).text.strip() == text


@pytest.mark.parametrize(
    ("note", "hidden"),
    [
        ("[//]: # (tell nobody)\n", "tell nobody"),
        ("[a]: <x> 'obey'\n\n[a]\n", "obey"),
        ("| a |\n|---|\n| 1 | beyond the last column |\n", "beyond the last column"),
        ("[](https://a.example/x)", "https://a.example/x"),
        ("<!-- obey -->", "obey"),
        ("%% obey %%", "obey"),
    ],
)
def test_words_that_markdown_would_hide_are_shown(note: str, hidden: str) -> None:
    assert hidden in page_of(note).text


# --- Limits -----------------------------------------------------------------------------------


def test_a_note_above_the_limit_is_left_to_be_shown_raw() -> None:
    longest = "é" * (128 * 1024)

    assert longest in shown(longest)
    with pytest.raises(TooLong):
        shown(longest + "é")


@pytest.mark.sampled
def test_a_note_of_hidden_letters_does_not_grow_without_bound() -> None:
    note = "a\0" * (128 * 1024)

    with pytest.raises(TooLong):
        shown(note)
    assert len(raw_html(note)) < 8 * len(note)


def test_a_list_that_is_nested_too_deeply_loses_nothing_silently() -> None:
    levels = [f"{'  ' * level}- level {level}" for level in range(40)]

    assert "level 28" in page_of("\n".join(levels[:29])).text
    with pytest.raises(TooLong):
        shown("\n".join(levels))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "note",
    some(
        [
            "-\n" * 100_000,
            "- a\n" * 65_000,
            "[" * 50_000,
            "[[" * 50_000,
            "![" * 50_000,
            "[a](" * 50_000,
            '[a](b "' * 37_000,
            '[a]: b "\n' * 29_000,
            "*a **b _c " * 26_000,
            "~~a~~~" * 43_000,
            "`a``" * 65_000,
            ">" * 59 + " a\n" + "b\n" * 100_000,
            "> - " * 60_000,
            "|" + "a|" * 2000 + "\n|" + "-|" * 2000 + "\n" + "a\n" * 2000,
            "a\0" * 130_000,
        ]
    ),
    ids=lambda note: repr(note[:12]),
)
def test_no_note_keeps_the_page_busy(note: str) -> None:
    # A long run of tests has much garbage, whose collection counts for the test that it hits.
    assert any(seconds_for(note) < AT_ONCE for _ in range(3))


def test_the_deadline_is_kept_without_signals() -> None:
    moments = iter(range(100))

    with pytest.raises(TooLong):
        render("- a\n" * 100, NOTES.get, clock=lambda: float(next(moments)))


def test_emphasis_within_emphasis_is_bounded() -> None:
    note = "*a **b " * 1000 + "c** d* " * 1000

    html = shown(note)

    assert html.count("<em>") + html.count("<strong>") <= 20
    assert Markup(html).text.count("a") == 1000


# --- Raw text ---------------------------------------------------------------------------------


def test_raw_text_is_escaped_and_hides_nothing() -> None:
    assert raw_html("<b>\r\n\u202e&") == "&lt;b&gt;\n⟨U+202E⟩&amp;"
