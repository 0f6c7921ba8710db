"""Vaults to measure with: as many notes as wanted, always the same ones for a seed.

A note is 2 kB on average, between 1 and 3. Words follow Zipf's law: the most frequent hundred are English function
words, as in a real text, the others are made of syllables. Notes have headings, bullets of 40 to 160 characters,
paragraphs, tables and fences, and lie in 12 scopes.
"""

import itertools
import random
from bisect import bisect
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

FUNCTION_WORDS = (
    "the of and to a in that is was he for it with as his on be at by i this had not are but from or have an they "
    "which one you were her all she there would their we him been has when who will more no if out so said what up "
    "its about into than them can only other new some could time these two may then do first any my now such like "
    "our over man me even most made after also did many before must through back years where much your way well"
)
STARTS = "b c d f g h j k l m n p r s t v w br dr st sh"
VOWELS = "a e i o u a e i o u ai ea"
VOCABULARY = 20_000
USERS = ("alma", "boris", "chiara", "dawit", "edda", "farid", "greta", "hugo")
SCOPES = (
    *(f"user:{name}" for name in USERS),
    "channel:harbour",
    "channel:kitchen",
    "group:main",
    "group:garden",
)
"""The twelve scopes, in the order of the folders below"""
FOLDERS = (
    *(f"Users/{name}/memories" for name in USERS),
    "Channels/harbour/memories",
    "Channels/kitchen/memories",
    "memory",
    "groups/garden/memory",
)
LARGEST, SMALLEST = 2_900, 950


class Words:
    """Draws words as a language does: the n-th most frequent one comes with weight 1/n."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        function_words = FUNCTION_WORDS.split()
        made = _syllabic(random.Random(7), VOCABULARY - len(function_words))
        self._words = [*function_words, *made]
        self._sums = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def word(self) -> str:
        return self._words[bisect(self._sums, self.random.random() * self._sums[-1])]

    def text(self, least: int, most: int) -> str:
        """A sentence or more, of about so many characters."""
        length, found = self.random.randint(least, most), [self.word().capitalize()]
        size = len(found[0])
        while size < length:
            word = self.word()
            if self.random.random() < 0.08 and size < length - 20:
                found[-1] += ". " if self.random.random() < 0.4 else ", "
            found.append(word)
            size += len(word) + 1
        return " ".join(found).replace("  ", " ")


def _syllabic(draw: random.Random, count: int) -> list[str]:
    """Made words, short ones first: frequent words are short."""
    starts, vowels, ends = (STARTS.split(), VOWELS.split(), ["", "", "", "n", "r", "l", "s", "t"])
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = draw.choice((1, 2, 2, 3, 3))
        found[
            "".join(
                draw.choice(starts) + draw.choice(vowels) + draw.choice(ends)
                for _ in range(syllables)
            )
        ] = None
    return sorted(found, key=lambda word: len(word) + draw.random() * 4)


def note(words: Words) -> str:
    """One note: a title, and sections until it is long enough."""
    wanted = words.random.randint(SMALLEST, LARGEST)
    parts = [f"# {words.text(8, 40)}\n"]
    size = len(parts[0])
    while size < wanted:
        part = words.random.choices((_bullets, _paragraph, _table, _fence), weights=(60, 28, 6, 6))[
            0
        ](words, wanted - size)
        if words.random.random() < 0.35:
            part = f"\n## {words.text(6, 30)}\n{part}"
        parts.append(part)
        size += len(part)
    return "".join(parts)


def _bullets(words: Words, room: int) -> str:
    lines = []
    for _ in range(min(words.random.randint(3, 8), room // 100 + 1)):
        line = words.text(40, 160)
        chance = words.random.random()
        if chance < 0.10:
            line += f" ({date(2026, 1, 1) + timedelta(days=words.random.randrange(150))})"
        elif chance < 0.15:
            line = f"**{words.random.choice(USERS).capitalize()}**: {line}"
        lines.append(f"- {line}\n")
        if words.random.random() < 0.08:
            lines.append(f"  - {words.text(20, 60)}\n")
    return "\n" + "".join(lines)


def _paragraph(words: Words, room: int) -> str:
    return "\n" + _wrapped(words.text(150, min(500, max(160, room)))) + "\n"


def _wrapped(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 100)


def _table(words: Words, room: int) -> str:
    rows = [
        f"| {words.word()} | {words.text(10, 30)} | {words.random.randint(1, 999)} |\n"
        for _ in range(5)
    ]
    return "\n| what | where | how many |\n|---|---|---:|\n" + "".join(rows)


def _fence(words: Words, room: int) -> str:
    lines = [f"{words.word()} = {words.word()}({words.random.randint(1, 99)})\n" for _ in range(5)]
    return "\n```python\n" + "".join(lines) + "```\n"


def path(number: int, scope: int) -> str:
    """Where note `number` lies when it belongs to that scope."""
    day = date(2024, 1, 1) + timedelta(days=number)
    dated = number % 3 == 0 or SCOPES[scope].startswith("channel:")
    return f"{FOLDERS[scope]}/{day}.md" if dated else f"{FOLDERS[scope]}/note-{number:05d}.md"


def write(
    root: Path, count: int, *, seed: int = 1, scopes: Sequence[int] = tuple(range(12))
) -> int:
    """Write `count` notes below `root`, as old as notes that have settled; returns their bytes."""
    words, size = Words(seed), 0
    for number in range(count):
        place = root / path(number, scopes[number % len(scopes)])
        place.parent.mkdir(parents=True, exist_ok=True)
        raw = note(words).encode()
        place.write_bytes(raw)
        size += len(raw)
    return size


def write_units(root: Path, units: Sequence[int], *, seed: int = 1) -> None:
    """Write notes below `root` so that the n-th scope has about `units[n]` chunks."""
    from vault_memory.markdown.chunking.chunker import chunk

    words = Words(seed)
    for scope, wanted in enumerate(units):
        number = 0
        while wanted > 0:
            raw = note(words).encode()
            place = root / path(number, scope)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(raw)
            wanted -= len(chunk(raw))
            number += 1


def questions(texts: Sequence[str], count: int, *, seed: int = 2) -> list[str]:
    """Questions of 8 to 15 words, each made of words as they follow one another in one of the texts."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        words = draw.choice(texts).replace("*", " ").replace("|", " ").split()
        length = draw.randint(8, 15) - 1
        if len(words) < length:
            continue
        start = draw.randrange(len(words) - length + 1)
        found.append(f"what {' '.join(words[start : start + length])}?")
    return found
