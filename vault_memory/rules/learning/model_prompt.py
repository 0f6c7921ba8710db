"""Prompts for a language model: instructions, known notes, and turns with the ids it may cite.

Only the person's own turns have an id, so that a model cannot cite anything else. Text of people is
data between tags. A tag inside that text is broken, and a line of it cannot pose as another turn.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from vault_memory.rules.learning.answer_schema import (
    channel_schema,
    entities_schema,
    facts_schema,
    memories_schema,
    ops_schema,
    verdicts_schema,
)
from vault_memory.rules.search.tokens import clean

Role = Literal["extraction", "facts", "channel", "curation", "conflicts", "entities", "reflection"]
"""The task: what to remember, which facts hold, what a channel decided, edits of a note, which
statements contradict each other, which entities items name, or a review of a week (as ops)"""

CUT = "[…]"
"""Marks the place where text of an excerpt was left out"""
HEAD_SHARE = 0.4
"""Of a cut excerpt: the share of its beginning; the remaining share is its end"""
SEPARATOR = "\n\n"
"""Between two blocks of a prompt"""
TURNS_FRAME = len("<turns>\n") + len("\n</turns>")
"""Characters around the turns"""
SHORTEST = 400
"""Characters of a text that is not halved any more"""
TOKENS_OF_A_TURN = 150
"""Of an answer, for each own turn: two memories of a sentence with their labels, or two facts"""
LEAST_TOKENS, MOST_TOKENS = 512, 4_096
"""Of an answer. Without a limit, a small model that repeats itself never ends"""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A turn, or a section of it, as the model reads it."""

    id: str
    text: str
    who: str
    """the name of the speaker, e.g. ``alice`` or ``assistant``"""
    own: bool
    """whether the owner of the memory said it, in their own words"""
    ts: str = ""
    session: str = ""
    said: str = ""
    """local date and time for the model, e.g. ``Mon 2026-05-25 18:40``"""

    @property
    def size(self) -> int:
        """Characters of its line in a prompt, label and line end included."""
        return len(_line(self)) + 1

    def with_text(self, text: str) -> "Excerpt":
        """Returns the same turn with another text."""
        return replace(self, text=text)

    def cut_to(self, size: int) -> "Excerpt":
        """Returns its beginning and its end, so that its line has at most `size` characters."""
        # Rendering indents each line of the text, so only the rendered line has the real length.
        low = 0
        high = min(len(self.text), size)
        while low < high:
            length = (low + high + 1) // 2
            if self._cut(length).size <= size:
                low = length
            else:
                high = length - 1
        return self._cut(low)

    def _cut(self, length: int) -> "Excerpt":
        head = int(length * HEAD_SHARE)
        tail = length - head
        return self.with_text(self.text[:head] + CUT + self.text[len(self.text) - tail :])


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model."""

    role: Role
    system: str
    """the instructions from the Markdown file of this role"""
    known: tuple[tuple[str, str], ...] = ()
    """the current notes as (name, text), e.g. ``("USER.md", "## Tea …")``"""
    excerpts: tuple[Excerpt, ...] = ()

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The ids that the answer may cite: the person's own turns, each once."""
        own = (excerpt.id for excerpt in self.excerpts if excerpt.own)
        return tuple(dict.fromkeys(own))

    @property
    def text(self) -> str:
        """The notes and turns that the model reads after the instructions."""
        blocks = [_tagged(name, _safe(text)) for name, text in self.known]
        if self.excerpts:
            blocks.append(_tagged("turns", "\n".join(map(_line, self.excerpts))))
        return SEPARATOR.join(blocks)

    def fitted(self, room: int) -> "Prompt":
        """Returns the prompt in `room` characters: notes are cut to fit, turns are not."""
        remaining = room - len(replace(self, known=()).text)
        if self.excerpts:
            remaining -= len(SEPARATOR)
        return replace(self, known=_fitted(self.known, remaining))

    def schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the answer."""
        match self.role:
            case "extraction":
                return memories_schema(self.turn_ids)
            case "facts":
                return facts_schema(self.turn_ids)
            case "channel":
                return channel_schema(self.turn_ids)
            case "conflicts":
                return verdicts_schema()
            case "entities":
                return entities_schema()
            case "curation" | "reflection":
                return ops_schema()
            case _:
                assert_never(self.role)

    @property
    def answer_tokens(self) -> int:
        """The limit for the length of the answer."""
        if not self.excerpts:
            return MOST_TOKENS
        tokens = TOKENS_OF_A_TURN * len(self.turn_ids)
        return max(LEAST_TOKENS, min(MOST_TOKENS, tokens))

    def after(self, turn_id: str) -> "Prompt | None":
        """Returns the prompt for the own turns after this one; None when there are none."""
        positions = [
            position for position, excerpt in enumerate(self.excerpts) if excerpt.id == turn_id
        ]
        if not positions:
            return None
        remaining = self._with_excerpts(self.excerpts[positions[-1] + 1 :])
        return remaining if remaining.turn_ids else None

    def halves(self) -> "tuple[Prompt, Prompt] | None":
        """Returns the prompt for each half of the turns; None when they are too short."""
        if len(self.excerpts) > 1:
            middle = _middle([len(excerpt.text) for excerpt in self.excerpts])
            return self._with_excerpts(self.excerpts[:middle]), self._with_excerpts(
                self.excerpts[middle:]
            )
        if not self.excerpts or len(self.excerpts[0].text) < 2 * SHORTEST:
            return None
        excerpt = self.excerpts[0]
        middle = len(excerpt.text) // 2
        cut = excerpt.text.find(" ", middle) + 1 or middle
        first = excerpt.with_text(excerpt.text[:cut])
        second = excerpt.with_text(excerpt.text[cut:])
        return self._with_excerpts((first,)), self._with_excerpts((second,))

    def _with_excerpts(self, excerpts: tuple[Excerpt, ...]) -> "Prompt":
        return replace(self, excerpts=excerpts)


def with_short_ids(excerpts: Iterable[Excerpt]) -> tuple[tuple[Excerpt, ...], dict[str, str]]:
    """Returns the excerpts with ids such as ``t1`` for the own turns, and the turns' ids by those.

    Small models copy a short id without mistakes.
    """
    short_ids: dict[str, str] = {}
    renamed = []
    for excerpt in excerpts:
        if excerpt.own:
            short_id = short_ids.setdefault(excerpt.id, f"t{len(short_ids) + 1}")
            excerpt = replace(excerpt, id=short_id)
        renamed.append(excerpt)
    return tuple(renamed), {short: turn_id for turn_id, short in short_ids.items()}


def filled(template: str, values: Mapping[str, str]) -> str:
    """Returns the template with each ``{{name}}`` replaced; unknown names stay.

    Names inside of inserted values are not replaced.
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def known_size(known: Iterable[tuple[str, str]]) -> int:
    """Returns the characters of these notes in a prompt, tags and separators included."""
    return sum(len(_tagged(name, _safe(text))) + len(SEPARATOR) for name, text in known)


def _fitted(known: tuple[tuple[str, str], ...], room: int) -> tuple[tuple[str, str], ...]:
    """Cuts each text to the greatest common length that fits; drops all when the tags do not fit."""
    room += len(SEPARATOR)  # none follows the last note
    if known_size(known) <= room:
        return known
    low = 0
    high = max(len(text) for _, text in known)
    while low < high:
        length = (low + high + 1) // 2
        if known_size(_cut_notes(known, length)) <= room:
            low = length
        else:
            high = length - 1
    return _cut_notes(known, low) if low else ()


def _cut_notes(known: tuple[tuple[str, str], ...], length: int) -> tuple[tuple[str, str], ...]:
    return tuple((name, _beginning(text, length)) for name, text in known)


def _beginning(text: str, length: int) -> str:
    """Returns complete lines from the top, and a mark for the missing text."""
    if len(text) <= length:
        return text
    beginning = text[:length]
    complete_lines = beginning.rpartition("\n")[0]
    return (complete_lines or beginning) + "\n" + CUT


_PLACEHOLDER = re.compile(r"\{\{ ?([a-z_]+) ?\}\}")
_TAG_START = re.compile(r"<(?=/?[A-Za-z])")


def _tagged(name: str, inner: str) -> str:
    return f"<{name}>\n{inner.rstrip()}\n</{name}>"


def _safe(text: str) -> str:
    # A closing tag in a note would end the block of data early.
    return _TAG_START.sub("‹", clean(text))


def _line(excerpt: Excerpt) -> str:
    """Returns ``[id] (Mon 2026-05-25 18:40) alice: text`` with further lines indented.

    Only own turns have an id.
    """
    bullet = f"[{excerpt.id}]" if excerpt.own else "-"
    said = f" ({excerpt.said})" if excerpt.said else ""
    text = "\n    ".join(_safe(excerpt.text).splitlines())
    return f"{bullet}{said} {_name(excerpt.who)}: {text}"


def _name(who: str) -> str:
    # Brackets in a name would look like the id of a turn.
    name = _safe(who).replace("[", "(").replace("]", ")")
    return " ".join(name.split()) or "someone"


def _middle(lengths: list[int]) -> int:
    """Returns how many first texts make up about half of the total; at least one, and not all."""
    half = sum(lengths) / 2
    total = 0
    for count, length in enumerate(lengths, 1):
        total += length
        if total >= half:
            return max(1, min(count, len(lengths) - 1))
    return 1
