"""Who saved which item, who took which away, and whose save went over text that its author had never seen.

An item is a line that begins with a dash; every item of a simulated world is written only once.
"""

import re
from dataclasses import dataclass, field

_MARK = re.compile(rb" \xe2\x9a\xa0 \(.*\)$")
_MARKER = re.compile(rb"- +")
_GOES = re.compile(rb'- \[x\] (?:remove from|change in) [^"]*"([^"]*)"')


def items_in(raw: bytes | None) -> list[bytes]:
    """The items of a note in their order, each as `- text`.

    The mark of an item that came from another device is left out.
    """
    lines = (line.strip() for line in (raw or b"").split(b"\n"))
    return [_without_mark(_one_blank(line)) for line in lines if line.startswith(b"- ")]


def _one_blank(item: bytes) -> bytes:
    """The item with one blank after its marker: an appended item takes the wide marker of its list."""
    return _MARKER.sub(b"- ", item, count=1) if item.startswith(b"-  ") else item


def _without_mark(item: bytes) -> bytes:
    return _MARK.sub(b"", item) if b"\xe2" in item else item


@dataclass
class Ledger:
    """What people did, as far as an engine could know of it."""

    by: dict[bytes, str] = field(default_factory=dict)
    """Item → the person who saved it first."""
    deleted: dict[bytes, str] = field(default_factory=dict)
    """Item → a person who had it before them and saved without it."""
    overwritten: dict[bytes, str] = field(default_factory=dict)
    """Item → a person whose save destroyed it although it was not in what they had loaded."""
    typed: set[bytes] = field(default_factory=set)
    """Every item that anybody at least began to save."""
    missed: set[bytes] = field(default_factory=set)
    """Items of a note that was saved anew while the engine had it away."""
    texts: list[bytes] = field(default_factory=list)
    """All that was ever saved completely."""
    asked: dict[bytes, str] = field(default_factory=dict)
    """Item that the bot was to write → the run."""
    dismissed: set[bytes] = field(default_factory=set)
    """Items of the bot that the bot itself was to take away or to rewrite."""

    let_go: set[bytes] = field(default_factory=set)
    """Items that a person allowed to be taken away or rewritten, by ticking a box"""

    def approved(self, line: bytes) -> None:
        """Somebody ticked this box."""
        if goes := _GOES.match(line):
            self.let_go.add(b"- " + goes[1])

    def begun(self, text: bytes) -> None:
        """Somebody begins to save this."""
        self.typed.update(items_in(text))

    def saved(self, who: str, loaded: bytes, text: bytes) -> None:
        """Somebody completed a save of what they had loaded and edited."""
        before, after = set(items_in(loaded)), items_in(text)
        self.typed.update(after)
        for item in after:
            if item not in before and item not in self.asked:
                self.by.setdefault(item, who)
        for item in before.difference(after):
            self.deleted.setdefault(item, who)
        self.texts.append(text)

    def destroyed(self, who: str, content: bytes, loaded: bytes, text: bytes) -> None:
        """A file with this content is about to be replaced or emptied by a save."""
        for item in set(items_in(content)).difference(items_in(loaded), items_in(text)):
            self.overwritten.setdefault(item, who)
