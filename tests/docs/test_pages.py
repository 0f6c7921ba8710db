"""The documentation stays small and plain: few guides, short sentences, a page for each add-on."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from vault_memory.addons import table

PROJECT = Path(__file__).resolve().parent.parent.parent
DOCS = PROJECT / "docs"
PACKAGE = PROJECT / "vault_memory"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
BROUGHT = sorted((DOCS / "addons").glob("*.md"))
"""Pages of add-ons without a guide of their own"""
EXPLAINED = [page for page in (DOCS / "explanation").glob("*.md") if page.stem != "guarantees"]
"""All but the list of tests, whose sentences are as long as their paths"""
PLAIN = [*PROJECT.glob("[AR]*.md"), *DOCS.glob("*.md"), *GUIDES, *BROUGHT, *sorted(EXPLAINED)]
"""Pages for people who use the program, or write it"""
LONG = 25
"""A sentence with more words is read twice"""
MOST_LONG = 0.06
MOST_WORDS = 48_000
END = re.compile(r"(?<=[.!?])\)?\s+(?=[^a-z…])")
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
MODULE = re.compile(r"\b(?:\w+/)+\w+\.py\b")
HEADING_LINK = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
PROSE = {"text", "code_inline", "softbreak", "hardbreak"}


def prose(text: str) -> Iterator[str]:
    """Yield each paragraph and item of a page; tables and code are no prose."""
    in_table = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_table = token.type in ("th_open", "td_open") or (in_table and token.type == "inline")
        if token.type == "inline" and not in_table:
            parts = [f"`{one.content}`" if one.type == "code_inline" else one.content or " "
                     for one in token.children or () if one.type in PROSE]  # fmt: skip
            yield "".join(parts)


def sentences(text: str) -> list[str]:
    return [one for paragraph in prose(text) for one in END.split(paragraph) if " " in one]


@pytest.mark.parametrize("page", PLAIN, ids=lambda page: page.name)
def test_few_sentences_of_a_page_are_long(page: Path) -> None:
    every = sentences(page.read_text(encoding="utf-8"))
    long = [one for one in every if len(one.split()) > LONG]

    assert len(long) <= MOST_LONG * len(every), long


def test_a_long_sentence_is_seen_behind_code_links_and_line_breaks() -> None:
    words = "one [two](three.md) `four`\nfive "

    assert [len(one.split()) for one in sentences(f"{words * 3}end. `Next` one.")] == [13, 2]


def test_there_are_at_most_fourteen_guides_and_the_index_names_each() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")

    assert len(GUIDES) <= 14
    assert not [
        page.name
        for page in [*GUIDES, *BROUGHT]
        if f"({page.parent.name}/{page.name})" not in index
    ]


def test_each_add_on_has_a_page_of_its_own_that_names_what_it_brings() -> None:
    guide = DOCS / "guides" / "many-vaults.md"
    pages = {}
    for line in guide.read_text(encoding="utf-8").splitlines():
        if row := re.match(r"\| `(\w+)` \|", line):
            [target] = LINK.findall(line)
            pages[row[1]] = (guide.parent / target).resolve()

    assert sorted(pages) == sorted(table.OFFERS)
    assert len(set(pages.values())) == len(pages)
    for name, page in pages.items():
        text = page.read_text(encoding="utf-8")
        assert f"add-on `{name}`" in text
        assert not [one for one in table.COMMANDS.get(name, {}) if one not in text]


def anchors(page: Path) -> set[str]:
    """Return the names of the headings of a page, as a link writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in plain}


def test_every_link_to_a_heading_finds_it() -> None:
    lost = []
    for page in [*PROJECT.glob("*.md"), *DOCS.rglob("*.md")]:
        for target, name in HEADING_LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in target and name not in anchors(
                page.parent / target if target else page
            ):
                lost.append(f"{page.name} → {target}#{name}")

    assert not lost


def definitions(module: Path) -> set[str]:
    """Return the functions, classes and methods of a module, a method as `Class.method`."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{one.name}" for one in ast.walk(node)
                      if isinstance(node, ast.ClassDef) and isinstance(one, ast.FunctionDef)}  # fmt: skip
    return names


def test_the_answers_to_the_three_questions_name_what_is_there() -> None:
    text = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| Where ")]

    assert len(rows) == 3
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)` · `([\w.]+)`", row)
        assert len(named) == 3
        for file, name in named:
            assert name in definitions(PACKAGE / file), f"{file} has no {name}"


@pytest.mark.parametrize(
    "page", ["explanation/architecture.md", "explanation/guarantees.md", "how-to-add.md"]
)
def test_every_module_that_a_page_names_is_there(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    files = {one for one in MODULE.findall(text) if "NAME" not in one}

    assert len(files) > 20
    assert not sorted(
        one for one in files if not (PACKAGE / one).exists() and not (PROJECT / one).exists()
    )


def test_the_architecture_shows_the_rooms_in_their_order() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    text = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    block = text.partition("```text\n")[2].partition("```")[0]
    shown = [line.partition("  ")[0] for line in block.splitlines() if line]

    assert shown[: len(layers)] == layers
    assert {line for line in shown if "/" in line} == {
        "addons/table.py",
        *(f"addons/{name}" for name in table.OFFERS),
    }


def test_the_page_for_coding_agents_fits_on_a_page_and_repeats_nothing() -> None:
    agents = (PROJECT / "AGENTS.md").read_text(encoding="utf-8")
    others = set(sentences((PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")))

    assert len(agents.split()) <= 450
    assert not others & set(sentences(agents))


def test_the_documentation_has_at_most_forty_eight_thousand_words() -> None:
    """As `wc -w` counts the README and each page below docs; the manual page is not among them."""
    pages = [PROJECT / "README.md", *DOCS.rglob("*.md")]

    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= MOST_WORDS
