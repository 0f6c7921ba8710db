"""Front matter counts for finding a note, and is not shown as the answer."""

import pytest

from tests.scenarios.outside import Outside

YAML = "---\nsubtitle: On the guillemots of the skerry\nisbn: 978-3-16-148410-0\n---\n"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("# Birds\n\nThey breed in June.\n\nAnd moult in August.\n", "They breed in June."),
        ("They breed in June.\n", "They breed in June."),
        ("\n\n- They breed in June\n- And moult\n", "- They breed in June"),
        ("## Empty\n", "## Empty"),
    ],
    ids=["heading", "paragraph", "list", "bare heading"],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_first_lines_of_the_body_are_shown(
    outside: Outside, body: str, shown: str, line_end: str
):
    outside.write("memory/a.md", (YAML + body).replace("\n", line_end).encode())

    for query in ("guillemots of the skerry", "9783161484100"):
        hits = outside.search(query)["hits"]
        assert (hits[0]["note"], hits[0]["text"]) == ("memory/a.md", shown)
        assert not [hit for hit in hits if "subtitle" in hit["text"]]
        assert len({hit["text"] for hit in hits}) == len(hits)
        [first, last] = hits[0]["lines"]
        assert first > 4
        assert last >= first


def test_a_body_that_was_found_itself_is_one_hit(outside: Outside):
    outside.write("memory/a.md", f"{YAML}The guillemots breed in June.\n")

    [hit] = outside.search("guillemots")["hits"]

    assert hit["text"] == "The guillemots breed in June."
    assert "copies" not in hit


def test_a_note_of_front_matter_alone_is_shown_by_it(outside: Outside):
    outside.write("memory/a.md", YAML)

    [hit] = outside.search("guillemots")["hits"]

    assert "guillemots" in hit["text"]


def test_a_rule_at_the_top_begins_no_front_matter(outside: Outside):
    outside.write("memory/a.md", "\n---\nsubtitle: guillemots\n\nThey breed in June.\n")

    hit = outside.search("guillemots")["hits"][0]

    assert "guillemots" in hit["text"]


def test_a_prompt_gets_the_body(outside: Outside):
    outside.write("memory/a.md", f"{YAML}They breed in June.\n")

    text = outside.ok("context", "which guillemots breed on the skerry?")["text"]

    assert "They breed in June." in text
    assert "isbn" not in text
