"""Ops in the shapes of sections that people write: in Obsidian, Logseq, Foam and plain Markdown."""

import difflib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.every import every
from tests.rules.edits.test_ops import raw_of
from tests.rules.edits.test_undo import run
from vault_memory.markdown.document import parse, render
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.apply_ops import apply_ops
from vault_memory.rules.edits.undo import undo

DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("*.md"))
BLOCK = re.compile(r"^````(\w+)\n(.*?)^````$", re.MULTILINE | re.DOTALL)
REFUSAL = re.compile(r"^`(\w+)`: (\w+)$", re.MULTILINE)


class Shape(NamedTuple):
    """A section as a document shows it, and the note after each op."""

    title: str
    heading: str
    match: str
    note: bytes
    after: dict[str, bytes]
    outcome: dict[str, str]

    def op(self, name: str) -> dict[str, str]:
        op = {"op": name, "heading": self.heading}
        if name != "append":
            op["match"] = self.match
        if name != "remove":
            op["line"] = "new line" if name == "append" else "new words"
        return op


def shape_of(title: str, rest: str) -> Shape:
    heading, match = re.match(r"Heading `(.*)`, item `(.*)`\.", rest).groups()
    blocks = {name: raw_of(text) for name, text in BLOCK.findall(rest)}
    refusals = dict(REFUSAL.findall(rest))
    return Shape(title, heading, match, blocks.pop("note"), blocks, refusals)


def shapes_in(document: Path) -> list[Shape]:
    """The shapes of a document, whose blocks may have headings of their own."""
    text = document.read_text(encoding="utf-8")
    parts = re.split(r"^## (?=[^\n]+\n\nHeading `)", text, flags=re.MULTILINE)[1:]
    return [shape_of(*part.split("\n\n", 1)) for part in parts]


SHAPES = [shape for document in DOCUMENTS for shape in shapes_in(document)]
CASES = [
    pytest.param(shape, name, id=f"{name}: {shape.title}")
    for shape in SHAPES
    for name in ("append", "replace", "remove")
]


def test_there_are_60_shapes_and_each_has_a_result_for_each_op():
    assert len({shape.title for shape in SHAPES}) == len(SHAPES) >= 60
    for shape in SHAPES:
        assert {*shape.after, *shape.outcome} == {"append", "replace", "remove"}


@every(("shape", "name"), CASES)
def test_an_op_gives_the_documented_note(shape: Shape, name: str):
    outcome = apply_ops(parse(shape.note), [shape.op(name)])

    results = [one.outcome for one in outcome.applied]
    results += [one.reason for one in outcome.rejected]
    assert results == [shape.outcome.get(name, "applied")]
    assert render(outcome.doc) == shape.after.get(name, shape.note)


@every(("shape", "name"), CASES)
def test_an_op_changes_only_what_it_names_and_undo_gives_the_bytes_back(shape: Shape, name: str):
    after, record = run(shape.note, shape.op(name))

    gone, new = changed_lines(shape.note, after)
    named = named_lines(shape)
    assert set(gone) <= ({*named} if name != "append" else {b""})
    assert [line for line in new if b"new " not in line and line.strip()] == []
    if after != shape.note:
        assert undo(record, after).raw == shape.note


def changed_lines(before: bytes, after: bytes) -> tuple[list[bytes], list[bytes]]:
    rows = list(difflib.ndiff(before.decode().splitlines(), after.decode().splitlines()))
    gone = [row[2:].encode() for row in rows if row.startswith("- ")]
    new = [row[2:].encode() for row in rows if row.startswith("+ ")]
    return gone, new


def named_lines(shape: Shape) -> list[bytes]:
    """The lines of the items with the text that the ops name, with nested items."""
    doc = parse(shape.note)
    return [
        line
        for item in items_of(doc)
        if shape.match in item.text
        for line in doc.sections[item.section].body[item.start : item.end].splitlines()
    ]
