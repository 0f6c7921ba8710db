"""What people wrote about a note: fields, tags, aliases and links."""

import time

from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from vault_memory.markdown.properties.note_properties import (
    LONGEST,
    MOST,
    Property,
    Sort,
    note_properties,
    text_tags,
)


def values(raw: str, sort: Sort) -> list[str]:
    properties = note_properties(raw.encode())
    return [entry.value for entry in properties if entry.sort == sort]


def fields(raw: str) -> dict[str, list[str]]:
    by_name: dict[str, list[str]] = {}
    for entry in note_properties(raw.encode()):
        if entry.sort == Sort.FIELD:
            by_name.setdefault(entry.name, []).append(entry.value)
    return by_name


@every(
    ("front", "expected"),
    [
        ("status: done", {"status": ["done"]}),
        ("Status: 'It''s done' # soon", {"status": ["It's done"]}),
        ('title: "A: \\"b\\""', {"title": ['A: "b"']}),
        ("people: [ann, 'bo', \"al\"]", {"people": ["ann", "bo", "al"]}),
        ("people:\n  - ann\n  - bo", {"people": ["ann", "bo"]}),
        ("people:\n- ann\n- bo\nx: 1", {"people": ["ann", "bo"], "x": ["1"]}),
        ("boat:\n  name: Tern\n  feet: 9", {"boat.name": ["Tern"], "boat.feet": ["9"]}),
        ("about: |\n  two\n  lines\nx: 1", {"about": ["two lines"], "x": ["1"]}),
        ("author: '[[Bo Stone]]'", {"author": ["[[Bo Stone]]"]}),
        ("empty:", {"empty": [""]}),
        ("- no key\n:\njust text", {}),
    ],
)
def test_front_matter_is_read_as_people_write_it(front, expected):
    assert fields(f"---\n{front}\n---\ntext") == expected


def test_fields_of_logseq_are_those_of_the_page():
    assert fields("tags:: sea, land\nstatus:: open\n\n- later:: x") == {
        "tags": ["sea", "land"],
        "status": ["open"],
    }


def test_tags_are_those_that_obsidian_shows():
    text = "a #boat, (#travel/sea) #2026 #é-clair\n# Heading\n[x](#anchor) http://x/#no"

    assert text_tags(text) == ["boat", "travel/sea", "é-clair"]


def test_a_line_of_tags_alone_is_about_the_note():
    note = "# T\n#boat #sea\n\nwe saw #whales there"

    assert values(note, Sort.TAG) == ["boat", "sea"]
    assert values(note, Sort.TEXT_TAG) == ["whales"]


def test_links_lead_to_notes_in_each_form():
    note = (
        "[[A|shown]] [[d/B#Part]] ![[C]] [x](E%20f.md#g) [[#here]] ![[p.png]] [y](https://z/q.md)"
    )

    assert values(note, Sort.LINK) == ["A", "d/B", "C", "E f.md"]
    keys = [entry.key for entry in note_properties(note.encode())]
    assert keys == ["a", "b", "c", "e f"]


def test_code_and_comments_have_neither_tags_nor_links():
    note = "```\n#no [[No]]\n```\n`#no` %%#no [[No]]%% #yes [[Yes]]"

    assert values(note, Sort.TEXT_TAG) == ["yes"]
    assert values(note, Sort.LINK) == ["Yes"]


@given(st.binary(max_size=400))
def test_any_bytes_have_properties(raw):
    for entry in note_properties(b"---\n" + raw):
        assert isinstance(entry, Property)
        assert len(entry.key) <= 3 * LONGEST


@every(
    "text",
    [
        "[[" * 200_000,
        "#" * 400_000,
        "#1" * 200_000,
        "](" * 200_000 + ".md",
        "%%" * 200_000 + "[",
        "---\n" + "a: [" * 100_000 + "\n---\n",
        "---\n" + "".join(f"k{n}: v\n" for n in range(40_000)) + "---\n",
        "`" * 400_001 + "[[",
    ],
    ids=["links", "signs", "digits", "files", "comments", "lists", "keys", "code"],
)
def test_a_hostile_note_is_read_in_a_moment(text):
    started = time.process_time()
    properties = note_properties(text.encode())

    assert time.process_time() - started < 3
    assert len(properties) <= MOST
