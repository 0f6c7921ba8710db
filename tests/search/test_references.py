"""A hit shows what it refers to: blocks, notes and sections, and nothing that the caller may not read."""

import pytest

from tests.scenarios.outside import Outside
from vault_memory.index import note_queries
from vault_memory.markdown.properties.note_properties import Sort

ID = "61024cd6-1951-47cc-8050-25f68960d729"
OTHER = "61024ec1-fd51-4b84-905e-8443a9204ae9"
BLOCKS = f"""\
- Seals
\t- Never feed bread to seals
\t  id:: {ID}
\t  collapsed:: true
\t\t- They get ill of it
\t- They sleep at noon
"""
TARGET = """\
---
aliases: [Deep bird]
---
# Cormorant

It dives deep.

## Dive times: records

Five minutes at most.

Forty metres is the record. ^depth

1. It rests
2. It dries its wings ^wings

## Food

Fish.
"""


def text_of(outside: Outside, query: str, *options: str) -> str:
    [hit, *_] = outside.search(query, *options)["hits"]
    return str(hit["text"])


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (f"((({ID})))", "(Never feed bread to seals)"),
        (f"as in (({ID})), always", "as in Never feed bread to seals, always"),
        (f"{{{{embed (({ID}))}}}}", "Never feed bread to seals\n\t- They get ill of it"),
        (f"{{{{embed (({ID})) }}}}", "Never feed bread to seals\n\t- They get ill of it"),
        (f"(({OTHER})) stays", f"(({OTHER})) stays"),
        (f"[label](({ID}))", f"[label](({ID}))"),
        (f"[label]((({ID})))", f"[label]((({ID})))"),
        (f"`(({ID}))` is code", f"`(({ID}))` is code"),
        ("{{embed [[Cormorant]]}}", "It dives deep."),
        ("![[Cormorant]]", "It dives deep."),
        ("![[birds/Cormorant.md]]", "It dives deep."),
        ("![[deep bird]]", "It dives deep."),
        ("![[Cormorant|the bird]]", "It dives deep."),
        ("![[Cormorant#Dive times records]]", "Five minutes at most."),
        ("![[Cormorant#Cormorant#Food]]", "Fish."),
        ("![[Cormorant#^depth]]", "Forty metres is the record."),
        ("![[Cormorant^depth]]", "Forty metres is the record."),
        ("![[Cormorant#^wings]]", "It dries its wings"),
        ("![[Cormorant#Flight]]", "![[Cormorant#Flight]]"),
        ("![[Cormorant#^none]]", "![[Cormorant#^none]]"),
        ("![[Gone]]", "![[Gone]]"),
        ("![[cormorant.png]]", "![[cormorant.png]]"),
        ("[[Cormorant]] is a link", "[[Cormorant]] is a link"),
    ],
)
def test_a_reference_is_shown_by_its_text(outside: Outside, written: str, shown: str):
    outside.write("memory/blocks.md", BLOCKS)
    outside.write("memory/birds/Cormorant.md", TARGET)
    outside.write("memory/a.md", f"- walrus: {written}\n")

    text = text_of(outside, "walrus", "--limit", "1")

    assert text.startswith(f"- walrus: {shown}")
    assert "id::" not in text
    assert "^" not in text.splitlines()[0] or "^" in shown


def test_an_embedded_list_keeps_the_indentation_of_its_place(outside: Outside):
    outside.write("memory/blocks.md", BLOCKS)
    outside.write("memory/a.md", f"- walrus\n  {{{{embed (({ID}))}}}}\n")

    assert text_of(outside, "walrus") == (
        "- walrus\n  Never feed bread to seals\n  \t- They get ill of it"
    )


def test_references_within_what_is_shown_are_shown_too_and_end(outside: Outside):
    outside.write("memory/a.md", "walrus one ![[b]]\n")
    outside.write("memory/b.md", "two ![[c]]\n")
    outside.write("memory/c.md", "three ![[a]] and ![[c]] and ![[#None]]\n")

    text = text_of(outside, "walrus")

    assert text == "walrus one two three ![[a]] and ![[c]] and ![[#None]]"


def test_a_long_note_is_shown_by_its_beginning(outside: Outside):
    outside.write("memory/a.md", "walrus ![[b]]\n")
    outside.write("memory/b.md", "\n\n".join(f"Line {n} says more." for n in range(400)))

    text = text_of(outside, "walrus")

    assert "Line 0 says more." in text
    assert len(text) < 700


def test_a_note_of_another_scope_is_not_shown(outside: Outside):
    outside.write("Users/ann/memories/secret.md", f"- ann's plan\n  id:: {ID}\n")
    outside.write("Users/ann/memories/Plan.md", "Leave on Monday\n")
    outside.write("Users/bob/memories/a.md", "- walrus ((" + ID + ")) ![[Plan]]\n")

    text = text_of(outside, "walrus", "--user", "bob")

    assert text == f"- walrus (({ID})) ![[Plan]]"


def test_a_line_that_was_struck_or_deleted_is_not_shown(outside: Outside):
    outside.write("memory/b.md", f"- ~~He lives in Kiel~~\n  id:: {ID}\n")
    outside.write("memory/a.md", f"- walrus (({ID}))\n")
    assert text_of(outside, "walrus") == f"- walrus (({ID}))"

    outside.write("memory/b.md", f"- He lives in Bremen\n  id:: {ID}\n")
    assert text_of(outside, "walrus") == "- walrus He lives in Bremen"

    outside.write("memory/b.md", "- He moved\n")
    assert text_of(outside, "walrus") == f"- walrus (({ID}))"


def test_a_rule_and_a_turn_are_shown_in_no_other_note(outside: Outside):
    outside.write("Users/ann/lantern/config/RULES.md", f"- Sing\n  id:: {ID}\n")
    outside.write("Users/ann/memories/a.md", f"- walrus (({ID})) ![[RULES]]\n")

    assert text_of(outside, "walrus") == f"- walrus (({ID})) ![[RULES]]"


@pytest.mark.parametrize("edited", [False, True])
def test_a_prompt_gets_what_is_referred_to(outside: Outside, *, edited: bool):
    outside.write("memory/blocks.md", BLOCKS)
    outside.write("memory/a.md", f"- the walrus rule is (({ID}))\n")
    outside.ok("index")
    if edited:
        outside.write("memory/a.md", f"- new\n- the walrus rule is (({ID}))\n")

    text = outside.ok("context", "what is the walrus rule?")["text"]

    assert "the walrus rule is Never feed bread to seals" in text


def test_a_note_is_found_by_its_alias_or_title_as_by_its_name(outside: Outside):
    sorts = (note_queries.FIELD, note_queries.ALIAS, note_queries.FRONT)
    assert sorts == (Sort.FIELD, Sort.ALIAS, Sort.FRONT)
    talk = "".join(f"- {n}: deep bird, a deep bird, bird deep\n" for n in range(12))
    outside.write("memory/log.md", talk)
    outside.write("memory/x1.md", TARGET)
    outside.write("memory/x2.md", "---\ntitle: Night heron\n---\nIt hunts at dusk.\n")
    outside.write("memory/x3.md", "alias:: snow goose\n\n- It is white\n")
    outside.write("memory/log2.md", talk.replace("deep bird", "night heron snow goose"))

    for question, note in (
        ("what is a deep bird?", "memory/x1.md"),
        ("how does the night heron hunt?", "memory/x2.md"),
        ("snow goose", "memory/x3.md"),
    ):
        assert outside.search(question)["hits"][0]["note"] == note
