"""Shows what hits refer to: blocks, notes and sections, in the place of the references.

References are `((id))`, `{{embed ((id))}}` and `{{embed [[note]]}}` of Logseq, and `![[note]]`,
`![[note#heading]]` and `![[note#^block]]` of Obsidian. One that leads nowhere stays as it is written.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from vault_memory.index import note_queries
from vault_memory.index.chunk_rows import SEPARATOR
from vault_memory.index.note_queries import ChunkDetails
from vault_memory.index.properties import reference_queries
from vault_memory.index.store import Index
from vault_memory.markdown.properties.note_properties import folded_value, link_key
from vault_memory.search.notes.note_lookup import depth_and_path, within
from vault_memory.search.results import Hit, Reference

MOST = 10
"""References of a text that are shown"""
MOST_DEPTH = 3
"""References within each other"""
LONGEST = 600
"""Letters of a note or a section that are shown"""
UNQUOTED = frozenset({"rules", "transcript"})
"""Kinds of notes that are shown in no other note: a rule is an order, and a turn may have a secret"""
_REFERENCE = re.compile(
    r"\{\{embed[ \t]+(?:\(\((?P<embedded>[\w-]{1,64})\)\)|\[\[(?P<page>[^\[\]\n]{1,200})\]\])[ \t]*\}\}"
    r"|(?<!\])(?<!\]\()\(\((?P<block>[\w-]{1,64})\)\)"
    r"|!\[\[(?P<note>[^\[\]\n]{1,300})\]\]"
)
_CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]+`", re.DOTALL)
_BULLET = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HIDDEN = re.compile(r"[ \t]*(?:id|collapsed|heading)::(?:[ \t]|$)")
"""Properties of a block that Logseq does not show"""
_BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^[\w-]+[ \t]*$")
_NO_LETTER = re.compile(r"[\W_]+")


_Place = tuple[str, int]
"""A note, and the first line of a chunk in it"""


class _Target(NamedTuple):
    """What a reference leads to."""

    details: ChunkDetails
    text: str

    @property
    def place(self) -> _Place:
        return self.details.path, self.details.first_line


class References:
    """The references in the notes of some scopes."""

    def __init__(self, index: Index, scope_ids: Sequence[int], without: Collection[int]) -> None:
        """`without` are chunks that no hit shows, because they have faded."""
        self._index = index
        self._scope_ids = scope_ids
        self._without = without

    def resolved(self, hit: Hit) -> Hit:
        """Return a hit whose text has what it refers to."""
        if hit.kind == "transcript" or not may_refer(hit.text):
            return hit
        references = self._references(hit.text, hit.note, frozenset({(hit.note, hit.lines[0])}))
        if not references:
            return hit
        text = shown(hit.text, references)
        return replace(hit, text=text, written=hit.text, references=tuple(references))

    def _references(self, text: str, path: str, above: frozenset[_Place]) -> list[Reference]:
        """Return the references of a text in the note `path`; `above` are the chunks that refer to it."""
        # Fault: two notes that embed each other would be shown without end.
        if len(above) > MOST_DEPTH:
            return []
        code = [match.span() for match in _CODE.finditer(text)]
        references: list[Reference] = []
        for match in _REFERENCE.finditer(text):
            start = match.start()
            is_code = any(first <= start < last for first, last in code)
            if is_code or len(references) == MOST:
                continue
            targets = [target for target in self._targets(match, path) if target.place not in above]
            if targets:
                indent = _indent(text, start)
                references.append(self._reference(match, targets, above, indent))
        return references

    def _reference(
        self,
        match: re.Match[str],
        targets: Sequence[_Target],
        above: frozenset[_Place],
        indent: str,
    ) -> Reference:
        texts: list[str] = []
        sources = {(target.details.kind, target.details.scope) for target in targets}
        for target in targets:
            nested = self._references(target.text, target.details.path, above | {target.place})
            texts.append(shown(target.text, nested))
            sources.update(source for each in nested for source in each.sources)
        text = "\n".join(texts)
        if match["block"]:
            text = " ".join(text.split())
        return Reference(*match.span(), text.replace("\n", f"\n{indent}"), sources)

    def _targets(self, match: re.Match[str], path: str) -> list[_Target]:
        if id_ := match["embedded"] or match["block"]:
            return self._block_of_outliner(id_, with_children=bool(match["embedded"]))
        link = (match["page"] or match["note"]).partition("|")[0].rstrip("\\").strip()
        name, _, section = link.partition("#")
        block = section.partition("^")[2]
        if not section:
            name, _, block = name.partition("^")
        chunks = self._chunks_of(name.strip(), path)
        if block:
            return _block_of(chunks, block.strip())
        if section:
            heading = _words(section.rpartition("#")[2])
            chunks = [chunk for chunk in chunks if heading in _headings(chunk)]
        return _beginning(chunks)

    def _chunks_of(self, name: str, path: str) -> list[_Target]:
        """Return the chunks of the note that a link in the note `path` leads to."""
        if name:
            notes = reference_queries.notes_named(self._index, self._scope_ids, link_key(name))
            nearest = min(within(name, notes), key=depth_and_path, default="")
            note = notes.get(nearest)
        else:
            note = reference_queries.note_at(self._index, path)
        if note is None:
            return []
        return self._read(reference_queries.chunks_of_body(self._index, note))

    def _block_of_outliner(self, id_: str, *, with_children: bool) -> list[_Target]:
        """Return the block that has an id of Logseq."""
        line = re.compile(rf"[ \t]*(?:[-*+][ \t]+)?id::[ \t]*{re.escape(id_)}[ \t]*")
        chunks = reference_queries.chunks_saying(self._index, self._scope_ids, id_)
        for chunk in self._read(chunks):
            lines = chunk.text.split("\n")
            number = next((n for n, each in enumerate(lines) if line.fullmatch(each)), -1)
            if number < 0:
                continue
            text = _outlined(lines, number, with_children=with_children)
            if _holds(text):
                return [chunk._replace(text=text)]
        return []

    def _read(self, chunks: Iterable[int]) -> list[_Target]:
        """Return those of these chunks that the caller may read and that have not faded."""
        # Fault: a line that has faded would come back by a reference.
        active = [chunk for chunk in chunks if chunk not in self._without]
        details = note_queries.details_of(self._index, self._scope_ids, active)
        return [
            _Target(details[chunk], details[chunk].text)
            for chunk in active
            if chunk in details and details[chunk].kind not in UNQUOTED
        ]


def may_refer(text: str) -> bool:
    """Return whether a text may have a reference."""
    return "((" in text or "![[" in text or "{{embed" in text


def shown(written: str, references: Iterable[Reference]) -> str:
    """Return a text with what it refers to in the place of these references."""
    stretches: list[str] = []
    place = 0
    for reference in references:
        stretches += written[place : reference.start], reference.text
        place = reference.end
    return "".join(stretches) + written[place:]


def _beginning(chunks: Iterable[_Target]) -> list[_Target]:
    """Return the first chunks of a note or section that together are short."""
    beginning: list[_Target] = []
    length = 0
    for chunk in chunks:
        text = chunk.text.strip("\n")
        if not _holds(text):
            continue
        length += len(text)
        if beginning and length > LONGEST:
            break
        if len(text) > LONGEST:
            text = f"{text[:LONGEST].rsplit(maxsplit=1)[0]} …"
        beginning.append(chunk._replace(text=text))
    return beginning


def _block_of(chunks: Sequence[_Target], id_: str) -> list[_Target]:
    """Return the paragraph or item that ends with a block id of Obsidian."""
    end = re.compile(rf"(?:^|[ \t])\^{re.escape(id_)}[ \t]*$", re.IGNORECASE)
    before: _Target | None = None
    for chunk in chunks:
        lines = chunk.text.split("\n")
        number = next((n for n, line in enumerate(lines) if end.search(line)), -1)
        if number >= 0:
            text = _ended(lines[: number + 1])
            # An id on a line of its own belongs to what precedes it.
            if not text and before is not None:
                chunk, text = before, before.text.strip("\n")
            return [chunk._replace(text=text)] if text and _holds(text) else []
        before = chunk
    return []


def _ended(lines: Sequence[str]) -> str:
    """Return the last paragraph or item of these lines, without its block id."""
    last = _BLOCK_ID.sub("", lines[-1])
    above = list(lines[:-1])
    if not last.strip():
        while above and not above[-1].strip():
            del above[-1]
        last = above.pop() if above else ""
    block = [last]
    while above and above[-1].strip() and not _BULLET.match(block[0]):
        block.insert(0, above.pop())
    return _unmarked(block)


def _outlined(lines: Sequence[str], number: int, *, with_children: bool) -> str:
    """Return the block of an outliner that has a line."""
    start = number
    while start and not _BULLET.match(lines[start]):
        start -= 1
    bullet = _BULLET.match(lines[start])
    own = len(bullet["indent"]) if bullet else -1
    end = start + 1
    while end < len(lines):
        child = _BULLET.match(lines[end])
        if child and not (with_children and len(child["indent"]) > own):
            break
        end += 1
    block = [line for line in lines[start:end] if not _HIDDEN.match(line)]
    return _unmarked(block)


def _unmarked(block: Sequence[str]) -> str:
    """Return a block without its bullet and its indentation."""
    if not block:
        return ""
    bullet = _BULLET.match(block[0])
    first = block[0][bullet.end() :] if bullet else block[0]
    indent = bullet["indent"] if bullet else ""
    lines = (line.removeprefix(indent) for line in block[1:])
    return "\n".join([first.strip(), *lines]).rstrip()


def _holds(text: str) -> bool:
    """Return whether a text is not struck through."""
    bullet = _BULLET.match(text)
    return not text[bullet.end() if bullet else 0 :].startswith("~~")


def _indent(text: str, place: int) -> str:
    """Return the blanks at the begin of the line that has a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _headings(chunk: _Target) -> list[str]:
    return [_words(heading) for heading in chunk.details.heading.split(SEPARATOR)]


def _words(heading: str) -> str:
    # Links leave out the marks of a heading, such as `:` and `|`.
    return folded_value(_NO_LETTER.sub(" ", heading))
