"""What a brain is asked: instructions, what is known already, and what was said, with the ids that may be cited.

Only the person's own turns are shown with an id, so that nothing else can be cited. Whatever people wrote stands
between marks as data; a mark inside it is broken, and a line of it cannot pose as another turn.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from vault_memory.rules.learning.answer_schema import ops_schema, schema
from vault_memory.rules.search.tokens import clean

Role = Literal["extraction", "curation", "reflection"]
"""What a brain is asked for: what to remember, edits of a note, or a look back on a week, which are ops as well"""

CUT = "[…]"
"""Stands where a part of an excerpt was left out"""
HEAD_SHARE = 0.4
"""Of an excerpt that is cut: so much of what is shown is its beginning, the rest its end"""
PARTED = "\n\n"
"""Between two parts of a prompt"""
TURNS_FRAME = len("<turns>\n") + len("\n</turns>")
"""Characters around what was said"""
SHORTEST = 400
"""Characters of a text that is not cut in two any more"""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One turn as a brain gets to see it, whole or in part."""

    id: str
    text: str
    who: str
    """the name of who speaks, e.g. ``alice`` or ``assistant``"""
    own: bool
    """whether it was said by a person whose memory this is, in their own words"""
    ts: str = ""
    session: str = ""

    @property
    def size(self) -> int:
        """Characters of its line in a prompt, with the label and the line end."""
        return len(_line(self)) + 1

    def with_text(self, text: str) -> "Excerpt":
        """The same turn, saying this."""
        return replace(self, text=text)

    def cut_to(self, size: int) -> "Excerpt":
        """The beginning and the end of it, so that its line has no more than `size` characters.

        What is shown grows when it is rendered: each line of the text is set in. So the length is measured there.
        """
        low, high = 0, min(len(self.text), size)
        while low < high:
            length = (low + high + 1) // 2
            if self._cut(length).size <= size:
                low = length
            else:
                high = length - 1
        return self._cut(low)

    def _cut(self, length: int) -> "Excerpt":
        head = int(length * HEAD_SHARE)
        return self.with_text(
            self.text[:head] + CUT + self.text[len(self.text) - (length - head) :]
        )


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a brain."""

    role: Role
    system: str
    """the instructions, as they stand in the Markdown file of this role"""
    known: tuple[tuple[str, str], ...] = ()
    """what is there already, as (name, text), e.g. ``("USER.md", "## Tea …")``"""
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """What may be cited: the turns of the person's own, each once."""
        return tuple(dict.fromkeys(one.id for one in self.excerpts if one.own))

    @property
    def text(self) -> str:
        """All that the brain is to read beside the instructions."""
        parts = [_marked(name, text) for name, text in self.known]
        if self.excerpts:
            parts.append(
                _marked("turns", "\n".join(map(_line, self.excerpts)), escape=False)
            )
        return PARTED.join(parts)

    def fitted(self, room: int) -> "Prompt":
        """The same question in so many characters: what is known already is cut, what was said is not."""
        left = (
            room
            - len(replace(self, known=()).text)
            - (len(PARTED) if self.excerpts else 0)
        )
        return replace(self, known=_fitted(self.known, left))

    def schema(self) -> dict[str, Any]:
        """The shape of the answer, as JSON Schema."""
        return schema(self.turn_ids) if self.role == "extraction" else ops_schema()

    def halves(self) -> "tuple[Prompt, Prompt] | None":
        """The same question about one half of what was said and about the other; None when it is too little."""
        if len(self.excerpts) > 1:
            middle = _middle([len(one.text) for one in self.excerpts])
            return replace(self, excerpts=self.excerpts[:middle]), replace(
                self, excerpts=self.excerpts[middle:]
            )
        if not self.excerpts or len(self.excerpts[0].text) < 2 * SHORTEST:
            return None
        [whole] = self.excerpts
        at = whole.text.find(" ", len(whole.text) // 2) + 1 or len(whole.text) // 2
        first, second = (
            replace(whole, text=part) for part in (whole.text[:at], whole.text[at:])
        )
        return replace(self, excerpts=(first,)), replace(self, excerpts=(second,))


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with each ``{{name}}`` replaced; what is put in is not looked at again, unknown names stay."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)


def known_size(known: Iterable[tuple[str, str]]) -> int:
    """Characters that this has in a prompt, with its marks and what parts it from what follows."""
    return sum(len(_marked(name, text)) + len(PARTED) for name, text in known)


def _fitted(
    known: tuple[tuple[str, str], ...], room: int
) -> tuple[tuple[str, str], ...]:
    """Each text up to a common length, the greatest that fits; nothing at all when not even the marks do."""
    if known_size(known) - len(PARTED) <= room:
        return known
    low, high = 0, max(len(text) for _, text in known)
    while low < high:
        length = (low + high + 1) // 2
        if (
            known_size((name, _beginning(text, length)) for name, text in known)
            - len(PARTED)
            <= room
        ):
            low = length
        else:
            high = length - 1
    return tuple((name, _beginning(text, low)) for name, text in known) if low else ()


def _beginning(text: str, length: int) -> str:
    """Whole lines from the top, and a mark that says that there is more."""
    if len(text) <= length:
        return text
    kept = text[:length]
    return (kept.rpartition("\n")[0] or kept) + "\n" + CUT


_PLACE = re.compile(r"\{\{ ?([a-z_]+) ?\}\}")
_MARKS = re.compile(r"<(?=/?[A-Za-z])")


def _marked(name: str, text: str, *, escape: bool = True) -> str:
    inner = _safe(text) if escape else text
    return f"<{name}>\n{inner.rstrip()}\n</{name}>"


def _safe(text: str) -> str:
    return _MARKS.sub("‹", clean(text))


def _line(one: Excerpt) -> str:
    """``[id] alice: text``, with further lines set in; what cannot be cited has no id."""
    label = f"[{one.id}] {_name(one.who)}" if one.own else f"- {_name(one.who)}"
    return f"{label}: " + "\n    ".join(_safe(one.text).splitlines())


def _name(who: str) -> str:
    return " ".join(_safe(who).replace("[", "(").replace("]", ")").split()) or "someone"


def _middle(lengths: list[int]) -> int:
    """How many of the first make about half of it all; at least one, and not all."""
    half, run = sum(lengths) / 2, 0
    for count, length in enumerate(lengths, 1):
        run += length
        if run >= half:
            return max(1, min(count, len(lengths) - 1))
    return 1
