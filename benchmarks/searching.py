"""Search in process: natural questions over 55,000 chunks in 12 scopes, by words alone and with vectors.

The vectors are random ones of MiniLM's size; embedding the query is apart.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks import stand_in, vaults
from benchmarks.place import Place
from benchmarks.table import Row
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.index.store import Index
from vault_memory.rules.search import tokens

UNITS = (600, 10_000, *(4_440,) * 10)
"""Chunks of each of the 12 scopes"""
QUESTIONS = 60
LIMITS: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    ("one scope of 600 chunks", (vaults.SCOPES[0],), 1.0, 2.0),
    ("one scope of 10,000 chunks", (vaults.SCOPES[1],), 8.0, 12.0),
    ("all 12 scopes, 55,000 chunks", vaults.SCOPES, 25.0, 25.0),
)
"""Which scopes, and the most CPU milliseconds a query may take by words, and with vectors"""


def rows(place: Place) -> Iterator[Row]:
    """Six rows: three sets of scopes, by words and with vectors."""
    vault = place.root / "searched"
    vaults.write_units(vault, UNITS)
    with place.open(vault) as memory:
        memory.index(embed=False)
        index = memory.vault.indexing.index()
        stand_in.fill(index, fingerprint=stand_in.StandIn.fingerprint, name="stand-in")
        asked = {
            scopes: vaults.questions(_texts(index, scopes), QUESTIONS) for _, scopes, _, _ in LIMITS
        }
        for figure, scopes, most, _ in LIMITS:
            yield _row(f"search by words, {figure}", memory, "keyword", asked[scopes], scopes, most)
        embedder = _Prepared(question for questions in asked.values() for question in questions)
        memory.vault.semantic.embedder = embedder
        for figure, scopes, _, most in LIMITS:
            yield _row(
                f"search with vectors, {figure}", memory, "balanced", asked[scopes], scopes, most
            )


class _Prepared(stand_in.StandIn):
    """The vectors of the questions, made beforehand."""

    def __init__(self, questions: Iterator[str]) -> None:
        super().__init__()
        self._vectors = {question: stand_in.vector(question.encode()) for question in questions}
        self._usual = next(iter(self._vectors.values()))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._vectors.get(text, self._usual) for text in texts]


def _row(
    figure: str,
    memory: VaultMemory,
    mode: str,
    questions: Sequence[str],
    scopes: Sequence[str],
    most: float,
) -> Row:
    index = memory.vault.indexing.index()
    bare = _median_milliseconds(lambda question: floor(index, question), questions[:20])
    ours = _median_milliseconds(
        lambda question: memory.search(question, scopes=scopes, mode=mode, refresh=False), questions
    )
    return Row(
        figure,
        "12.8 CPU ms, all words required",
        f"{bare:.1f} CPU ms: one OR over all",
        f"{ours:.1f} CPU ms",
        f"≤ {most:.0f} CPU ms",
        ours <= most,
    )


def _median_milliseconds(ask: Callable[[str], object], questions: Sequence[str]) -> float:
    ask(questions[0])
    took = []
    for question in questions:
        started = time.thread_time()
        ask(question)
        took.append(1000 * (time.thread_time() - started))
    return statistics.median(took)


def floor(index: Index, question: str) -> int:
    """One query of the full text for any of the words, stop-words left out, over all scopes."""
    expression = " OR ".join(f'"{word}"' for word in tokens.terms(question))
    sql = "SELECT rowid, bm25(chunk_fts) AS score FROM chunk_fts WHERE chunk_fts MATCH ? ORDER BY score LIMIT 10"
    return len(index.connection.execute(sql, (expression,)).fetchall())


def _texts(index: Index, scopes: Sequence[str]) -> list[str]:
    ids = index.scope_ids(scopes)
    marks = ",".join("?" * len(ids))
    rows = index.connection.execute(
        f"SELECT text FROM chunk WHERE scope IN ({marks}) ORDER BY id", ids
    )
    return [row[0] for row in rows]
