"""Vaults of many scopes that people edit, and everything that searches say of them.

Few words make many lines: the same line stands in several notes, so that scores tie, and some words stand in every
second chunk.
"""

import json
import random
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from unittest.mock import patch

from vault_memory.index import vector_codes, vectors
from vault_memory.index.store import Index
from vault_memory.ingest.scan import Ingest
from vault_memory.rules.paths.layout import Layout
from vault_memory.rules.search import tokens
from vault_memory.search.candidates import VectorArm
from vault_memory.search.query import SearchQuery, search
from vault_memory.vault.reader import Folder

NOW = datetime(2026, 6, 1, 12, 0)
MODEL, DIMENSIONS = "toy", 32
FOLDERS = {
    "group:main": "memory",
    "user:ann": "Users/ann/memories",
    "user:anna": "Users/anna/memories",
    "user:bo": "Users/bo/memories",
    "channel:harbour": "Channels/harbour/memories",
    "channel:quay": "Channels/quay/memories",
}
PEOPLE = ("ann", "anna", "bo")
VOCABULARY = (
    "boat lake garden apple oak heron winter letter bridge music ladder copper violin market engine thunder kettle "
    "harvest lantern meadow pepper saddle timber velvet window yellow anchor basket candle driver"
).split()
_SUMS = list(accumulate(1 / rank for rank in range(1, len(VOCABULARY) + 1)))
LINES_PER_NOTE = 25
LONG = "memory/long.md"
KINDS = (
    "write",
    "append",
    "insert",
    "cut",
    "delete",
    "rename",
    "copy",
    "talk",
    "swap",
    "long",
    "facts",
)

QUERIES = (
    "heron",
    "the boat on the lake",
    "what did Ann say about the copper kettle in the garden last week?",
    "boat lake garden apple oak heron winter letter",
    "how many candles are there? When did Bo see the driver?",
    "苹果树",
    "the skipper",
    "driver basket. Which anchor? Is it the yellow window",
)
MODES = ("balanced", "keyword", "semantic", "rrf")
NARROWED: tuple[dict[str, object], ...] = (
    {"topic": "work"},
    {"entity": "Ann"},
    {"since": datetime(2026, 5, 3).date()},
    {"kinds": ("dated",)},
)


class Town:
    """One vault, and the edits of the people in it. The same seed makes the same edits."""

    def __init__(
        self,
        root: Path,
        seed: int,
        scopes: Sequence[str] = tuple(FOLDERS),
        *,
        people: Sequence[str] = PEOPLE,
    ) -> None:
        """`people`: who speaks. What somebody says in a channel is theirs, too."""
        self.root, self.source, self.scopes, self.people = (
            root,
            random.Random(seed),
            tuple(scopes),
            people,
        )
        root.mkdir(parents=True, exist_ok=True)

    def build(self, chunks: int) -> None:
        """Notes, transcripts and facts with about so many chunks."""
        for number in range(max(chunks // LINES_PER_NOTE, 1)):
            self._write(self._path(number), self._lines(LINES_PER_NOTE))
        if chunks >= 300:
            self._write(LONG, self._lines(chunks // 2))
        for scope in self.scopes:
            self._write(f"{FOLDERS[scope].rpartition('/')[0]}/FACTS.md".lstrip("/"), self._facts())
            if scope.startswith("channel:"):
                self._talk(
                    f"{FOLDERS[scope].rpartition('/')[0]}/transcripts/2026-05-02.jsonl",
                    chunks // 20,
                )

    def edit(self) -> None:
        """One edit by one of the people."""
        kind = self.source.choice(KINDS)
        notes = sorted(path for path in self.root.rglob("*.md") if path.name != "FACTS.md")
        path = self.source.choice(notes) if notes else self.root / self._path(0)
        if kind == "long":  # of a long note only the difference is written
            kind, path = (self.source.choice(("append", "insert", "cut", "swap")), self.root / LONG)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        at = self.source.randint(0, len(lines))
        if kind == "write":
            self._write(
                self._path(self.source.randrange(10_000)), self._lines(self.source.randint(1, 40))
            )
        elif kind == "append":
            self._write(path, [*lines, *self._lines(3)])
        elif kind == "insert":
            self._write(path, [*lines[:at], *self._lines(2), *lines[at:]])
        elif kind == "cut":
            self._write(path, lines[:at] + lines[at + 2 :])
        elif kind == "delete" and len(notes) > 3:
            path.unlink()
        elif kind in ("rename", "copy") and path.exists():
            target = self.root / self._path(self.source.randrange(10_000))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            if kind == "rename" and target != path:
                path.unlink()
        elif kind == "talk" and (said := sorted(self.root.rglob("*.jsonl"))):
            self._talk(self.source.choice(said).relative_to(self.root).as_posix(), 2)
        elif kind == "facts" and (pages := sorted(self.root.rglob("FACTS.md"))):
            self._write(self.source.choice(pages), self._facts())
        elif kind == "swap":
            self._write(path, [line.replace("oak", "elm") for line in lines])

    def _path(self, number: int) -> str:
        folder = FOLDERS[self.source.choice(self.scopes)]
        name = (
            f"2026-05-{number % 28 + 1:02}"
            if number % 3 == 0
            else f"note-{self.source.randrange(100_000)}"
        )
        return f"{folder}/{name}.md"

    def _write(self, path: str | Path, lines: Iterable[str]) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(lines), encoding="utf-8")

    def _talk(self, path: str, turns: int) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            for _ in range(turns):
                number = self.source.randrange(1 << 30)
                turn = {
                    "id": f"t{number}",
                    "ts": f"2026-05-02T10:{number % 60:02}:00+00:00",
                    "session": "s",
                    "role": "user",
                    "user": self.source.choice(self.people),
                    "channel": path.split("/")[1],
                    "text": self._sentence(),
                }
                file.write(json.dumps(turn) + "\n")

    def _facts(self) -> list[str]:
        named = self.source.choice(self.people).capitalize()
        return [
            f"## {named}\n\n",
            "- also_known_as: the skipper\n",
            f"- likes: {self.source.choice(VOCABULARY)}\n",
        ]

    def _lines(self, count: int) -> list[str]:
        return [line for _ in range(count) for line in (self._line(),) if line]

    def _line(self) -> str:
        kind = self.source.randrange(20)
        if kind == 0:
            return f"\n## {self._sentence(2)}\n\n"
        if kind == 1:
            return "\ntopic: work\n\n"
        if kind < 5:
            return "- the heron stands beside the boat\n"
        if kind < 8:
            return f"- **{self.source.choice(self.people).capitalize()}**: {self._sentence()}\n"
        if kind == 8:
            return f"- {self._sentence()} (2026-05-{self.source.randint(1, 28):02})\n"
        if kind == 9:
            return f"- 苹果树 {self.source.choice(VOCABULARY)}\n"
        if kind == 10:
            return f"- {self._sentence()}?\n"
        if kind == 11:
            return f"- {self._sentence()} [[2026-05-{self.source.randint(1, 28):02}]]\n"
        return f"- {self._sentence()}\n"

    def _sentence(self, count: int = 0) -> str:
        count = count or self.source.randint(2, 12)
        return " ".join(self.source.choices(VOCABULARY, cum_weights=_SUMS, k=count))


def bring_up_to_date(root: Path, index: Index, *, with_codes: bool = True) -> None:
    """What a one-shot command does, and all vectors."""
    ingest = Ingest(Folder(root), index, Layout(), time.time_ns)
    ingest.look_again(ingest.scan(), conclude_young=True)
    with index.transaction():
        model = vectors.model_id(index, MODEL, MODEL, DIMENSIONS)
        while pending := vectors.pending(index, model, 1000):
            vectors.put(index, model, [(key, embed(text)) for key, text in pending])
    while with_codes and vector_codes.put(index, model):
        pass


@cache
def _direction(word: str) -> tuple[float, ...]:
    return tuple(byte - 127.5 for byte in sha256(word.encode()).digest()[:DIMENSIONS])


def embed(text: str) -> bytes:
    """A text as a vector: the sum of the directions of its words."""
    total = [1e-3] * DIMENSIONS
    for word in tokens.words(text):
        total = [value + part for value, part in zip(total, _direction(word), strict=True)]
    length = sum(value * value for value in total) ** 0.5
    return struct.pack(f"<{DIMENSIONS}f", *(value / length for value in total))


Answers = dict[tuple[object, ...], tuple[object, ...]]


def scope_sets(scopes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each scope alone, some together, and all."""
    yield from ((scope,) for scope in scopes)
    yield from pairwise(scopes)
    yield tuple(scopes)


def answers(
    index: Index,
    asked: Iterable[Sequence[str]],
    *,
    queries: Sequence[str] = QUERIES,
    rescored: Sequence[int] = (vector_codes.MOST_EXACT,),
) -> Answers:
    """Everything that searches say, each number to its last digit.

    `rescored` has how many chunks are compared exactly.
    """
    found: Answers = {}
    for scopes in asked:
        for query in queries:
            for mode in MODES:
                for most in rescored:
                    found[tuple(scopes), query, mode, most] = _answer(
                        index, query, scopes, mode, most
                    )
            for more in NARROWED:
                found[tuple(scopes), query, str(more)] = _answer(
                    index, query, scopes, "balanced", **more
                )
            found[tuple(scopes), query, "gated"] = _answer(
                index, query, scopes, "balanced", gated=True
            )
    return found


def _answer(
    index: Index,
    query: str,
    scopes: Sequence[str],
    mode: str,
    rescored: int = vector_codes.MOST_EXACT,
    **more: object,
) -> tuple[object, ...]:
    with patch.multiple(vector_codes, MOST_EXACT=rescored, RESCORED=rescored):
        answer = search(
            index,
            SearchQuery(
                query,
                scopes,
                now=NOW,
                mode=mode,
                limit=15,
                why=True,
                **more,  # type: ignore[arg-type]
            ),
            vector_arm=VectorArm(embed, MODEL),
        )
    hits = [
        (
            hit.note,
            hit.lines,
            hit.heading,
            hit.date,
            hit.scope,
            hit.kind,
            hit.text,
            hit.score,
            hit.why and (dict(hit.why.terms), dict(hit.why.arms)),
        )
        for hit in answer.hits
    ]
    return hits, dict(answer.arms), dict(answer.left_out), answer.terms


def differences(some: Answers, others: Answers) -> list[str]:
    """What is not the same, in words."""
    assert some.keys() == others.keys()
    return [
        f"{asked}:\n  {some[asked]}\n  {others[asked]}"
        for asked in some
        if some[asked] != others[asked]
    ]
