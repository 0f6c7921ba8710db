"""The verb: a query in any words, the best lines of these scopes out."""

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime

from vault_memory.errors import UsageError
from vault_memory.index import Index, text
from vault_memory.index.filters import Filters
from vault_memory.memory import dates, ranking, words
from vault_memory.recall.answer import MODES, Answer, Hit

CANDIDATES = 200
RESCORED = 60

Embed = Callable[[str], bytes]


def search(
    index: Index,
    query: str,
    *,
    scopes: Sequence[str],
    now: datetime,
    mode: str = "balanced",
    limit: int = 10,
    topic: str | None = None,
    entity: str | None = None,
    since: date | None = None,
    until: date | None = None,
    kinds: Collection[str] = (),
    embed: Embed | None = None,
    model: str = "",
    why: bool = False,
    cues: bool = True,
    matrices: object | None = None,
) -> Answer:
    """The lines of these scopes that answer `query` best. Any string is a query; no scopes means no hits.

    Raises UsageError for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"there is no mode `{mode}`", hint=f"the modes are {', '.join(MODES)}", known=list(MODES))
    filters = Filters(topic, entity, since, until, frozenset(kinds))
    ids = index.scope_ids(scopes)
    asked = ranking.Asked(frozenset(words.words(query)), dates.named(query, now=now))
    weights = ranking.WEIGHTS if cues else ranking.PROSE
    found: dict[ranking.Place, text.Found] = {}
    terms: dict[ranking.Place, tuple[float, float]] = {}
    for sentence in words.sentences(query):
        rows = text.find(index.connection, ids, words.terms(sentence), filters, most=CANDIDATES)
        scores = {(row.note, row.ordinal): row.score for row in rows}
        found |= {(row.note, row.ordinal): row for row in rows}
        for place, pair in ranking.text_terms(scores, weights).items():
            terms[place] = max(terms.get(place, (0.0, 0.0)), pair)
    scored = []
    for place, row in found.items():
        own, note = terms[place]
        score = own + weights.note * note + weights.length * ranking.length_term(row.length)
        if ranking.names_speaker(row.who, asked.names):
            score += weights.speaker
        scored.append((score, row))
    scored.sort(key=lambda pair: (-pair[0], pair[1].note, pair[1].ordinal))
    return Answer(tuple(_hit(index, row.id, score) for score, row in scored[:limit]), {"text": len(found)})


def _hit(index: Index, id_: int, score: float) -> Hit:
    row = index.connection.execute(
        "SELECT note.path, c.first_line, c.last_line, c.heading, c.date, scope.name, note.kind, c.text"
        " FROM chunk c JOIN note ON note.id = c.note JOIN scope ON scope.id = c.scope WHERE c.id = ?",
        (id_,),
    ).fetchone()
    assert row is not None
    heading = tuple(row[3].split("\x1f")) if row[3] else ()
    return Hit(row[0], (row[1], row[2]), heading, row[4], row[5], row[6], row[7], score)
