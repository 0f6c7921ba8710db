"""Import: a real SQLite file of Istota's tables becomes notes and facts, once, and is left as it was."""

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.addons.transfer.importer import NoSource
from vault_memory.database.connection import load_vector_functions
from vault_memory.database.read_only import ForeignDatabase

NOW = datetime(2090, 6, 1, 12, tzinfo=UTC)
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))
FACTS = "Users/alice/bot/config/FACTS.md"
TABLES = """
CREATE TABLE tasks (id INTEGER PRIMARY KEY, prompt TEXT);
CREATE TABLE knowledge_facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, subject TEXT NOT NULL, predicate TEXT NOT NULL,
    object TEXT NOT NULL, valid_from TEXT, valid_until TEXT, temporary INTEGER DEFAULT 0, confidence REAL DEFAULT 1.0,
    source_task_id INTEGER, created_at TEXT DEFAULT (datetime('now')));
CREATE TABLE memory_chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, source_type TEXT NOT NULL, source_id TEXT NOT NULL,
    chunk_index INTEGER DEFAULT 0, content TEXT NOT NULL, topic TEXT, valid_until TEXT, created_at TEXT);
"""
KNOWN = [
    ("alice", "alice", "works_at", "initech", "2089-03-01", "2090-01-28", 0, 1.0, None),
    ("alice", "alice", "works_at", "acme corp", "2090-01-28", None, 0, 0.8, 1234),
    ("alice", "alice", "visiting", "lisbon", "2090-05-01", "2090-05-09", 1, 1.0, None),
    ("alice", "alice", "likes", "green tea", None, None, 0, 1.0, None),
    ("alice", "alice", "knows", "python", None, None, 0, 1.0, None),
    ("alice", "alice", "knows", "python 3", None, None, 0, 1.0, None),
    ("alice", "alice", "likes", "", None, None, 0, 1.0, None),
    ("bob", "bob", "lives_in", "oslo", None, None, 0, 1.0, None),
]
CHUNKS = [
    (
        "alice",
        "conversation",
        "77",
        "User: where is the ferry?\n\nBot: At pier 4, at nine.",
        "admin",
        None,
        "2090-05-30 08:00:00",
    ),
    (
        "alice",
        "memory_file",
        "Users/alice/memories/2090-05-29.md",
        "## Day\n\n- Fixed the red boat\n  with Sam\n- Slept well\n",
        None,
        None,
        "2090-05-30 02:00:00",
    ),
    (
        "alice",
        "user_memory",
        "USER.md",
        "# Alice\n\nPrefers email summaries under five bullets",
        None,
        None,
        "2090-05-30 02:00:00",
    ),
    (
        "channel:room1",
        "channel_memory",
        "memories/2090-05-28.md",
        "- We chose the blue paint",
        None,
        None,
        None,
    ),
    (
        "channel:room1",
        "channel_memory_durable",
        "CHANNEL.md",
        "- Painting is on Fridays",
        None,
        None,
        None,
    ),
    (
        "bob",
        "conversation",
        "78",
        "User: " + "very long " * 400,
        None,
        "2090-07-01",
        "2090-05-30 08:00:00",
    ),
    (
        "../etc",
        "conversation",
        "79",
        "User: let me out of here, please",
        None,
        None,
        "2090-05-30 08:00:00",
    ),
]


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "istota's data?.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(TABLES)
        load_vector_functions(connection)
        connection.execute(
            "CREATE VIRTUAL TABLE memory_chunks_vec USING vec0(chunk_id INTEGER PRIMARY KEY, v FLOAT[4])"
        )
        facts = "user_id, subject, predicate, object, valid_from, valid_until, temporary, confidence, source_task_id"
        connection.executemany(
            f"INSERT INTO knowledge_facts ({facts}) VALUES (?,?,?,?,?,?,?,?,?)", KNOWN
        )
        chunks = "user_id, source_type, source_id, content, topic, valid_until, created_at"
        connection.executemany(
            f"INSERT INTO memory_chunks ({chunks}) VALUES (?,?,?,?,?,?,?)", CHUNKS
        )
    return path


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "vault").mkdir()
    with VaultMemory.open(
        tmp_path / "vault", OFF, environment={"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    ) as opened:
        yield opened


def texts(memory):
    return {
        str(path.relative_to(memory.root)): path.read_bytes()
        for path in memory.root.rglob("*")
        if path.is_file()
    }


@pytest.mark.smoke
def test_imported_facts_go_to_the_pages_of_their_people(memory, source):
    memory.transfer.import_from(source, now=NOW)

    assert (memory.root / FACTS).read_text() == (
        "## alice\n\n"
        "- likes: green tea\n"
        "- knows: python 3\n"
        "- ~~works_at: initech~~ (2089-03-01 to 2090-01-28)\n"
        "- works_at: acme corp (since 2090-01-28, ref:1234, conf:0.8)\n"
        "- ~~visiting: lisbon~~ (2090-05-01 to 2090-05-09, temporary)\n"
    )
    [job] = [
        fact
        for fact in memory.facts(scopes=["user:alice"], now=NOW)
        if fact.predicate == "works_at"
    ]
    assert (job.object, job.valid_from) == ("acme corp", date(2090, 1, 28))
    assert [fact.object for fact in memory.facts(scopes=["user:bob"], now=NOW)] == ["oslo"]


def test_imported_texts_go_to_the_note_of_their_day_or_the_undated_note(memory, source):
    done = memory.transfer.import_from(source, now=NOW)

    found = texts(memory)
    assert found["Users/alice/memories/2090-05-30.md"].decode() == (
        "## Imported\n\n- User: where is the ferry? (ref:77, topic:admin, origin:talk)\n"
        "- Bot: At pier 4, at nine. (ref:77, topic:admin, origin:talk)\n"
    )
    assert found["Users/alice/memories/2090-05-29.md"].decode() == (
        "## Imported\n\n- Day\n- Fixed the red boat with Sam\n- Slept well\n"
    )
    assert (
        b"- Prefers email summaries under five bullets\n"
        in found["Users/alice/memories/imported.md"]
    )
    assert (
        found["Channels/room1/memories/2090-05-28.md"]
        == b"## Imported\n\n- We chose the blue paint\n"
    )
    assert found["Channels/room1/CHANNEL.md"] == b"## Imported\n\n- Painting is on Fridays\n"
    long = found["Users/bob/memories/2090-05-30.md"].decode()
    assert long.count("very") == 400
    assert long.count("until:2090-07-01") == 3
    assert memory.search("ferry pier", scopes=["user:alice"]).hits
    assert not memory.search("ferry pier", scopes=["user:bob"]).hits
    assert sorted({one.path for one in done.skipped}) == [FACTS, "user:../etc"]
    assert b"let me out" not in b"".join(found.values())


@pytest.mark.smoke
def test_a_second_import_adds_nothing(memory, source):
    first = memory.transfer.import_from(source, now=NOW)
    before = texts(memory)
    again = memory.transfer.import_from(source, now=NOW.replace(day=9))

    assert (again.facts, again.items, again.notes) == (0, 0, [])
    assert again.known == first.facts + first.items + first.known
    assert texts(memory) == before


DAYS = st.sampled_from([None, "2089-01-01", "2090-03-01", "2090-06-01", "2091-01-01"])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["alice", "acme"]),
            st.sampled_from(["works_at", "visiting", "likes"]),
            st.sampled_from(["acme", "acme corp", "the acme corp", "tea", "port (old)"]),
            DAYS,
            DAYS,
        ),
        max_size=8,
    )
)
@example(
    [
        ("acme", "works_at", "acme", None, None),
        ("acme", "works_at", "acme", "2089-01-01", None),
        ("acme", "works_at", "tea", "2089-01-01", None),
    ]
)
@example(
    [
        ("acme", "works_at", "acme", "2090-06-01", None),
        ("acme", "works_at", "acme", None, None),
        ("acme", "works_at", "tea", None, None),
    ]
)
@example(
    [
        ("alice", "works_at", "port (old)", "2090-06-01", None),
        ("alice", "works_at", "the acme corp", None, None),
        ("alice", "works_at", "acme corp", None, None),
    ]
)
@example(
    [
        ("alice", "works_at", "port (old)", None, None),
        ("alice", "works_at", "tea", "2090-03-01", None),
        ("alice", "works_at", "tea", None, None),
        ("alice", "works_at", "acme", "2090-06-01", None),
    ]
)
def test_a_second_import_of_any_facts_writes_nothing(tmp_path_factory, told):
    folder = tmp_path_factory.mktemp("law")
    path = folder / "istota.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(TABLES)
        facts = "user_id, subject, predicate, object, valid_from, valid_until"
        connection.executemany(
            f"INSERT INTO knowledge_facts ({facts}) VALUES ('alice',?,?,?,?,?)", told
        )
    (folder / "vault").mkdir()
    with VaultMemory.open(
        folder / "vault", OFF, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    ) as memory:
        memory.transfer.import_from(path, now=NOW)
        before = texts(memory)
        assert memory.transfer.import_from(path, now=NOW.replace(day=9)).facts == 0
        assert texts(memory) == before


def test_a_dry_run_reports_the_import_and_writes_nothing(memory, source):
    before = texts(memory)
    would = memory.transfer.import_from(source, now=NOW, dry_run=True)

    assert texts(memory) == before
    did = memory.transfer.import_from(source, now=NOW)
    assert (would.facts, would.items, would.notes) == (did.facts, did.items, did.notes)


def test_a_text_already_in_the_notes_is_not_added_again(memory, source):
    note = memory.root / "Users/alice/memories/2090-05-29.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Friday\n\n- Fixed the red boat with Sam (2090-05-29)\n\nSlept well\n")
    os.utime(note, (0, 0))
    memory.transfer.import_from(source, now=NOW)
    assert note.read_text().count("red boat") == 1
    assert note.read_text().startswith(
        "# Friday\n\n- Fixed the red boat with Sam (2090-05-29)\n\nSlept well\n"
    )


def test_an_unreadable_note_does_not_stop_the_import_of_others(memory, source):
    (memory.root / "Users/alice/memories/2090-05-29.md").mkdir(parents=True)
    done = memory.transfer.import_from(source, scopes=["user:alice"], now=NOW)
    assert "Users/alice/memories/2090-05-29.md" in {one.path for one in done.skipped}
    assert (memory.root / "Users/alice/memories/2090-05-30.md").exists()


def test_only_the_named_people_are_imported(memory, source):
    memory.transfer.import_from(source, scopes=["user:bob"], now=NOW)
    assert not (memory.root / "Users/alice").exists()
    assert not (memory.root / "Channels").exists()
    assert (memory.root / "Users/bob/bot/config/FACTS.md").exists()


def test_an_import_can_be_undone(memory, source):
    memory.transfer.import_from(source, scopes=["user:alice"], now=NOW)
    records = memory.log()
    assert {(record.source, record.why) for record in records} == {
        ("cli", f"imported from {source.name}")
    }
    for record in records:
        memory.undo(record.id, now=NOW)
    assert not (memory.root / FACTS).exists() or not (memory.root / FACTS).read_text().strip()
    assert memory.facts(scopes=["user:alice"], now=NOW) == ()


def test_the_source_is_left_unchanged(memory, source):
    source.chmod(0o444)
    before = (
        hashlib.sha256(source.read_bytes()).digest(),
        sorted(os.listdir(source.parent)),
        source.stat().st_mtime_ns,
    )
    memory.transfer.import_from(source, now=NOW)
    after = (
        hashlib.sha256(source.read_bytes()).digest(),
        sorted(os.listdir(source.parent)),
        source.stat().st_mtime_ns,
    )
    assert after == before


def test_a_source_in_use_is_not_imported_partly(memory, source):
    with sqlite3.connect(source) as connection:
        connection.execute("PRAGMA journal_mode=wal")
        connection.execute(
            "INSERT INTO knowledge_facts (user_id, subject, predicate, object) VALUES ('a','a','b','c')"
        )
        connection.commit()
        with pytest.raises(ForeignDatabase, match="in use"):
            memory.transfer.import_from(source, now=NOW)
    connection.close()
    assert list(texts(memory)) == [".vault-memory"]


def test_a_database_of_another_program_is_refused(memory, tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE recipes (id INTEGER)")
        connection.execute("CREATE TABLE memory_chunks (id INTEGER, body TEXT)")
    connection.close()
    with pytest.raises(ForeignDatabase) as raised:
        memory.transfer.import_from(other, now=NOW)
    assert raised.value.details["found"] == ["memory_chunks", "recipes"]
    assert "user_id" in raised.value.message
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(ForeignDatabase, match="not a SQLite database"):
        memory.transfer.import_from(tmp_path / "text.db", now=NOW)
    with pytest.raises(NoSource):
        memory.transfer.import_from(tmp_path / "absent.db", now=NOW)
    assert list(texts(memory)) == [".vault-memory"]


def test_the_import_command_reports_json_and_an_exit_code(source, tmp_path):
    outside = Outside(tmp_path / "theirs", tmp_path / "home")
    outside.home.mkdir()
    outside.vault.mkdir()
    done = outside.ok("import", str(source), "--user", "bob")
    assert (done["facts"], done["items"], done["known"], done["skipped"]) == (1, 3, 0, [])
    assert done["notes"] == ["Users/bob/bot/config/FACTS.md", "Users/bob/memories/2090-05-30.md"]
    everybody = outside.run("import", str(source), "--json")
    assert (everybody.code, json.loads(everybody.out)["known"]) == (1, 4)
