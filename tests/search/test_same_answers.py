"""Answers follow from the notes of the scopes that are asked, and from nothing else, to the last digit."""

import random
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tests.effort import FULL, only_full, some
from tests.every import every
from tests.search import towns
from tests.search.library import MODEL, embed, library, put
from tests.search.towns import Town, answers, bring_up_to_date, differences, scope_sets
from vault_memory.index import fts_search, term_volumes, vector_codes
from vault_memory.index.filters import chunks_in
from vault_memory.index.generations import RULES
from vault_memory.index.slices import put_in_slices, remove_in_slices
from vault_memory.index.store import Index, IndexedFile, IndexEntry, State
from vault_memory.markdown.chunking.chunker import chunk
from vault_memory.search.candidates import VectorArm
from vault_memory.search.query import SearchQuery, search
from vault_memory.search.results import MODES

SEVERAL = tuple(scope_sets(tuple(towns.FOLDERS)))


RESCORED = (vector_codes.MOST_EXACT, 40)
"""Vectors are compared one by one, and by their bits first"""


def check_history(
    folder: Path, seed: int, *, chunks: int, edits: int, queries: int = len(towns.QUERIES)
) -> None:
    """After these edits an index that was kept up to date answers as one built afresh."""
    source, town = random.Random(seed), Town(folder / "vault", seed)
    asked = SEVERAL if FULL and chunks < 1_000 else (SEVERAL[1], SEVERAL[7], SEVERAL[-1])
    town.build(chunks)
    stepwise = Index(folder / "stepwise.sqlite")
    bring_up_to_date(town.root, stepwise)
    for step in range(edits):
        town.edit()
        if step % 7 == 0 or step == edits - 1:
            bring_up_to_date(town.root, stepwise, with_codes=source.random() < 0.5)
        if step % 20 == 0:  # what is kept of one search must not show in a later one
            answers(
                stepwise,
                [source.choice(asked)],
                queries=[source.choice(towns.QUERIES)],
                rescored=RESCORED,
            )
    fresh = Index(folder / "fresh.sqlite")
    bring_up_to_date(town.root, fresh)
    chosen = source.sample(towns.QUERIES, queries)
    try:
        kept_up = answers(stepwise, asked, queries=chosen, rescored=RESCORED)
        afresh = answers(fresh, asked, queries=chosen, rescored=RESCORED)
        assert differences(kept_up, afresh) == []
        assert sum(len(one[0]) for one in afresh.values()) > len(afresh)  # type: ignore[arg-type]
    finally:
        stepwise.close()
        fresh.close()


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=only_full) for seed in (1, 2))])
def test_an_incrementally_updated_index_answers_like_one_built_afresh(tmp_path, seed):
    check_history(tmp_path, seed, chunks=150 + 100 * seed, edits=100, queries=2)


@pytest.mark.sampled
def test_a_large_incrementally_updated_index_answers_like_one_built_afresh(tmp_path):
    check_history(tmp_path, 7, chunks=3_200, edits=30, queries=3)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1_000, 1_200))
def test_many_incrementally_updated_indexes_answer_like_ones_built_afresh(tmp_path, seed):
    check_history(
        tmp_path,
        seed,
        chunks=random.Random(seed).choice((200, 500, 1_500, 3_500, 6_000)),
        edits=100,
    )


TWINS = {("user:ann", f"{number:03}.md"): "- the heron\n" for number in range(300)}
SHUFFLED = dict(random.Random(5).sample(sorted(TWINS.items()), len(TWINS)))


@pytest.mark.sampled
@every("rescored", RESCORED)
@every("mode", MODES)
def test_equally_good_hits_are_ordered_by_path(mode, rescored, monkeypatch):
    for name in ("MOST_EXACT", "RESCORED"):
        monkeypatch.setattr(vector_codes, name, rescored)
    index = library(SHUFFLED)

    answer = search(
        index,
        SearchQuery("heron", ["user:ann"], now=towns.NOW, mode=mode, limit=5, copies=True),
        vector_arm=VectorArm(embed, MODEL),
    )

    assert [hit.note for hit in answer.hits] == [f"{number:03}.md" for number in range(5)]


def count_chunks_by_the_highest_id(monkeypatch):
    highest = "SELECT max(id), total(length(text)) FROM chunk"
    monkeypatch.setattr(
        term_volumes,
        "of",
        lambda run, ids: term_volumes.Volume(*map(int, run.execute(highest).fetchone())),
    )
    monkeypatch.setattr(
        fts_search,
        "within_scopes",
        lambda run, ids: f"scope : ({' OR '.join(f's{id_}' for id_ in ids)})",
    )


def add_up_by_where_rows_stand(monkeypatch):
    """As linear algebra libraries may do."""
    products = vector_codes._products
    monkeypatch.setattr(
        vector_codes,
        "_products",
        lambda matrix, query: (
            products(matrix, query) * (1 + 1e-6 * (np.arange(len(matrix)) % 4 == 3))
        ),
    )


def count_other_peoples_chunks(monkeypatch):
    of_scopes = term_volumes.of
    monkeypatch.setattr(term_volumes, "of", lambda run, ids: of_scopes(run, [term_volumes.NOWHERE]))
    monkeypatch.setattr(
        fts_search,
        "within_scopes",
        lambda run, ids: f"scope : ({' OR '.join(f's{id_}' for id_ in ids)})",
    )


@pytest.mark.sampled
@pytest.mark.parametrize("break_it", [count_chunks_by_the_highest_id, add_up_by_where_rows_stand])
def test_this_law_detects_broken_ranking(break_it, monkeypatch, tmp_path):
    break_it(monkeypatch)

    with pytest.raises(AssertionError):
        check_history(tmp_path, 0, chunks=200, edits=40, queries=2)


@pytest.mark.sampled
def test_this_law_detects_counts_taken_over_all_scopes(monkeypatch, tmp_path):
    count_other_peoples_chunks(monkeypatch)

    with pytest.raises(AssertionError):
        check_others(tmp_path, 0, chunks=100, edits=3, queries=1)


# ---- other people's notes -------------------------------------------------------------------------------------------

OWN = ("group:main", "user:ann", "channel:harbour")
OTHERS = ("user:anna", "user:bo", "channel:quay")
STRANGERS = ("anna", "bo")


def check_others(
    folder: Path, seed: int, *, chunks: int, edits: int, queries: int = len(towns.QUERIES)
) -> None:
    """What some people are answered does not depend on what other people have written, or ever wrote."""
    source = random.Random(seed)
    alone, among = Index(folder / "alone.sqlite"), Index(folder / "among.sqlite")
    town = Town(folder / "vault", seed, OWN)
    town.build(chunks)
    bring_up_to_date(town.root, alone)
    others = Town(folder / "others", seed + 1, OTHERS, people=STRANGERS)
    others.build(2 * chunks)
    both = folder / "both"
    for part in source.sample((town.root, others.root), 2):
        shutil.copytree(part, both, dirs_exist_ok=True)
        bring_up_to_date(both, among)
    together = Town(both, seed + 2, OTHERS, people=STRANGERS)
    kept_paths = {path.relative_to(town.root) for path in town.root.rglob("*") if path.is_file()}
    for _ in range(edits):
        together.edit()
    for path in kept_paths:  # only others' notes are edited
        shutil.copyfile(town.root / path, both / path)
    for path in both.rglob("*"):
        if (
            path.is_file()
            and path.relative_to(both) not in kept_paths
            and _is_own(path.relative_to(both))
        ):
            path.unlink()
    bring_up_to_date(both, among)
    asked = [*some(tuple(scope_sets(OWN))), ("user:ann", "user:nobody")]
    chosen = source.sample(towns.QUERIES, queries)
    try:
        mine = answers(alone, asked, queries=chosen, rescored=RESCORED)
        beside = answers(among, asked, queries=chosen, rescored=RESCORED)
        assert differences(mine, beside) == []
        assert among.counts()[1] > 2 * alone.counts()[1]
    finally:
        alone.close()
        among.close()


def _is_own(path: Path) -> bool:
    return not path.as_posix().startswith(("Users/anna/", "Users/bo/", "Channels/quay/"))


@pytest.mark.sampled
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=only_full)])
def test_answers_are_the_same_with_and_without_other_peoples_notes(tmp_path, seed):
    check_others(tmp_path, seed, chunks=200, edits=30, queries=3)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2_000, 2_100))
def test_many_answers_are_the_same_with_and_without_other_peoples_notes(tmp_path, seed):
    check_others(
        tmp_path, seed, chunks=random.Random(seed).choice((50, 200, 1_000, 3_500)), edits=100
    )


def scores_for(index: Index, scope: str, query: str) -> list[tuple[float, object]]:
    answer = search(index, SearchQuery(query, [scope], now=towns.NOW, why=True))
    return [(hit.score, hit.why) for hit in answer.hits]


def test_a_score_does_not_reveal_how_often_a_word_occurs_in_other_peoples_notes():
    mine = {("user:ann", "a.md"): "- my divorce lawyer\n- my garden\n- a boat\n- the lake\n"}
    seen = []
    for foreign in (0, 1, 2, 5, 50):
        others = {("user:bo", f"{number}.md"): "- the divorce\n" for number in range(foreign)}
        seen.append(
            scores_for(library(others | mine, embedded=False), "user:ann", "divorce garden")
        )

    assert all(one == seen[0] for one in seen)
    assert len(seen[0]) > 1


def test_a_small_scope_gives_the_same_hits_beside_a_large_one_as_alone():
    mine = {("user:ann", "a.md"): "- apple tree\n- apple pie\n- pear tree\n"}
    large = {("user:bo", "b.md"): "".join(f"- apple {number}\n" for number in range(9_000))}
    alone, beside = library(mine, embedded=False), library(large | mine, embedded=False)

    assert len(scores_for(alone, "user:ann", "apple pear")) == 3
    assert scores_for(beside, "user:ann", "apple pear") == scores_for(
        alone, "user:ann", "apple pear"
    )


def test_a_turn_shared_by_a_person_and_a_channel_is_counted_once(tmp_path):
    town = Town(tmp_path / "vault", 1, ("channel:harbour", "user:ann"))
    town.build(400)
    index = Index(tmp_path / "index.sqlite")
    bring_up_to_date(town.root, index)
    ids = index.scope_ids(["channel:harbour", "user:ann"])
    [(chunks,)] = index.connection.execute(f"SELECT count(*) FROM chunk c WHERE {chunks_in(ids)}")
    [(turns,)] = index.connection.execute("SELECT count(*) FROM chunk WHERE also = ?", ids[1:])

    assert term_volumes.of(index.connection, ids).chunks == chunks
    one_by_one = [term_volumes.of(index.connection, [id_]).chunks for id_ in ids]
    assert sum(one_by_one) == chunks + turns > chunks
    index.close()


@every("words", [0, 5, 300, 40_000])
def test_words_of_a_chunk_of_any_length_are_counted_as_in_fts5(words):
    index = Index(":memory:")
    run = index.connection.execute
    run(
        "INSERT INTO chunk_fts(rowid, scope, heading, who, body) VALUES (1, 's1', '', 'ann', ?)",
        ("word " * words,),
    )
    run(
        "INSERT INTO chunk(id, note, scope, ordinal, first_line, last_line, identity, heading, who, topic, text)"
        " VALUES (1, 1, 1, 0, 1, 1, '', '', '', '', '')"
    )
    term_volumes.add(index.connection, 1)

    assert term_volumes.of(index.connection, [1]) == (1, 2 + words)
    term_volumes.subtract(index.connection, [(1,)])
    assert run("SELECT * FROM volume WHERE scope > 0").fetchall() == []
    assert term_volumes.of(index.connection, [term_volumes.NOWHERE]).chunks == 0


def test_an_index_of_an_older_version_gets_its_word_counts_when_opened(tmp_path):
    town = Town(tmp_path / "vault", 3)
    town.build(200)
    path = tmp_path / "index.sqlite"
    index = Index(path)
    bring_up_to_date(town.root, index)
    counted = list(index.connection.execute("SELECT * FROM volume ORDER BY 1, 2"))
    lengths = list(index.connection.execute("SELECT * FROM chunk_length ORDER BY 1"))
    index.set(RULES, "those of then")
    index.connection.execute(
        "DROP TABLE volume; DROP TABLE chunk_length; DROP TABLE chunk_word;"
        " DROP TRIGGER chunk_stamp; DROP TABLE stamp;"
        " DROP TABLE read_count; DROP TABLE ledger;"
        " DROP INDEX note_due; ALTER TABLE note DROP COLUMN audits;"
        " DROP TABLE property;"
        " DROP INDEX note_name; ALTER TABLE note DROP COLUMN name;"
        " DROP TABLE note_code; DROP TRIGGER note_code_changed; DROP TRIGGER note_code_removed;"
        " PRAGMA user_version = 3"
    )
    index.close()

    index = Index(path)

    assert list(index.connection.execute("SELECT * FROM volume ORDER BY 1, 2")) == counted
    assert list(index.connection.execute("SELECT * FROM chunk_length ORDER BY 1")) == lengths
    assert (
        index.get(RULES) == ""
    )  # and is built anew: a daemon of that version may still write to it
    index.close()


def test_a_note_written_and_removed_in_slices_counts_like_one_written_at_once():
    at_once, in_slices = (
        library({("user:bo", "b.md"): "- boat\n"}, embedded=False) for _ in range(2)
    )
    lines = [f"- the {word} {number}\n" for number in range(150) for word in towns.VOCABULARY[:4]]
    for text_of_note in ("".join(lines), "".join(lines[50:]), "- heron\n"):
        raw = text_of_note.encode()
        held = IndexedFile(len(raw), 1, 1, 1, sha256(raw).hexdigest(), State.SETTLED)
        entry = IndexEntry("a.md", "user:ann", "note", None, len(raw), held, chunk(raw))
        put(at_once, "a.md", "user:ann", text_of_note)
        list(put_in_slices(in_slices, entry))

        assert volume_by_name(in_slices) == volume_by_name(at_once)
    list(remove_in_slices(in_slices, "a.md"))
    assert volume_by_name(in_slices) == {("", 1), ("user:bo", 1)}


def volume_by_name(index: Index) -> set[tuple[str, int]]:
    """How many chunks each scope has, and all together."""
    rows = index.connection.execute(
        "SELECT coalesce(name, ''), chunks FROM volume LEFT JOIN scope ON scope.id = volume.scope"
    )
    return set(rows)
