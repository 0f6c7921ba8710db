"""`from vault_memory import VaultMemory`: what a bot written in Python calls."""

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from vault_memory import VaultMemory
from vault_memory.config.sections import Config, EmbeddingSettings
from vault_memory.contract import as_json
from vault_memory.errors import BadPath, NoteNotFound, NoVault, UsageError, VaultUnreachable

OFF = Config(embedding=EmbeddingSettings(kind="off"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
    }


@pytest.fixture
def memory(tmp_path: Path, environment: dict[str, str]) -> Iterator[VaultMemory]:
    vault = tmp_path / "vault"
    (vault / "Users" / "alice" / "memories").mkdir(parents=True)
    (vault / "Users" / "alice" / "memories" / "2026-02-03.md").write_text(
        "---\ntopic: birds\n---\n- saw a stork\n"
    )
    (vault / "memory").mkdir()
    (vault / "memory" / "a.md").write_text("- Ann: a crane flew over\n")
    with VaultMemory.open(vault, OFF, environment=environment) as opened:
        yield opened


def test_search_finds_notes_of_the_given_scopes(memory: VaultMemory):
    hit = memory.search("stork", scopes=["user:alice"]).hits[0]

    assert (hit.note, hit.lines, hit.scope, hit.date) == (
        "Users/alice/memories/2026-02-03.md",
        (4, 4),
        "user:alice",
        "2026-02-03",
    )
    assert memory.search("stork", scopes=["group:main"]).hits == ()
    assert memory.search("stork", scopes=[]).hits == ()


def test_a_bare_string_for_scopes_is_refused(memory: VaultMemory):
    with pytest.raises(UsageError):
        memory.search("stork", scopes="user:alice")
    with pytest.raises(TypeError):
        memory.search("stork")  # type: ignore[call-arg]


def test_an_unknown_mode_is_refused(memory: VaultMemory):
    with pytest.raises(UsageError):
        memory.search("stork", scopes=["user:alice"], mode="magic")


def test_filters_narrow_a_search(memory: VaultMemory):
    def notes(**filters: object) -> set[str]:
        return {hit.note for hit in memory.search("stork", scopes=["user:alice"], **filters).hits}  # type: ignore[arg-type]

    there = {"Users/alice/memories/2026-02-03.md"}
    assert notes(since=date(2026, 2, 3), until=date(2026, 2, 3)) == there
    assert notes(since=date(2026, 2, 4)) == set()
    assert notes(until=date(2026, 2, 2)) == set()
    assert notes(kinds=["dated"]) == there
    assert notes(kinds=["note"]) == set()
    assert notes(topic="birds", now=datetime(2026, 3, 1, tzinfo=UTC)) == there
    assert notes(topic="tea") == set()


def test_returned_values_are_frozen(memory: VaultMemory):
    answer = memory.search("stork", scopes=["user:alice"])

    for value in (
        answer,
        answer.hits[0],
        answer.freshness,
        memory.read("memory/a.md"),
        memory.notes()[0],
    ):
        first = next(iter(type(value).__annotations__))
        with pytest.raises(AttributeError):
            setattr(value, first, None)


def test_an_edit_is_found_by_the_next_search(memory: VaultMemory):
    note = memory.root / "memory" / "a.md"
    for bird in ("heron", "quail", "owl"):
        note.write_text(f"- a {bird}\n")
        assert memory.search(bird, scopes=["group:main"]).hits
    note.unlink()
    assert not memory.search("owl", scopes=["group:main"]).hits


def test_read_refuses_paths_outside_the_vault_and_reports_missing_notes(memory: VaultMemory):
    with pytest.raises(BadPath):
        memory.read("../x")
    with pytest.raises(NoteNotFound):
        memory.read("memory/b.md")
    with pytest.raises(NoteNotFound):
        memory.read("memory")


def test_a_vault_that_becomes_unreachable_is_an_error_not_an_empty_answer(memory: VaultMemory):
    assert memory.search("crane", scopes=["group:main"]).hits
    memory.root.rename(memory.root.with_name("away"))

    with pytest.raises(VaultUnreachable):
        memory.search("crane", scopes=["group:main"])

    memory.root.with_name("away").rename(memory.root)
    assert memory.search("crane", scopes=["group:main"]).hits


def test_opening_a_folder_without_a_vault_is_an_error(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoVault):
        VaultMemory.open(environment=environment)
    with pytest.raises(VaultUnreachable):
        VaultMemory.open(tmp_path / "nowhere", environment=environment)


def test_threads_can_share_one_object(memory: VaultMemory):
    note = memory.root / "memory" / "a.md"
    failures: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(20):
                assert memory.search("stork", scopes=["user:alice"]).hits
                memory.status()
                memory.notes()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for number in range(30):
        note.write_text(f"- bird number {number}\n")
    for thread in threads:
        thread.join()

    assert failures == []
    assert memory.search("bird number 29", scopes=["group:main"]).hits[0].text == "- bird number 29"


def test_two_objects_on_one_vault_see_each_others_work(
    memory: VaultMemory, environment: dict[str, str]
):
    with VaultMemory.open(memory.root, OFF, environment=environment) as other:
        memory.index(rebuild=True)
        (memory.root / "memory" / "b.md").write_text("- an owl\n")
        assert other.search("owl", scopes=["group:main"]).hits
        other.index(rebuild=True)
        assert memory.search("owl", scopes=["group:main"]).hits
        assert memory.searcher.stats() == other.searcher.stats()


def test_doctor_finds_no_problem_in_a_healthy_vault(memory: VaultMemory):
    assert {check.state for check in memory.doctor()} == {"ok"}


def test_doctor_repairs_an_index_that_differs_from_the_notes(memory: VaultMemory):
    memory.index()
    index = memory.vault.indexing.index()
    index.connection.execute("UPDATE note SET revision = ? WHERE path = 'memory/a.md'", ("0" * 64,))

    assert {check.name for check in memory.doctor() if check.state == "fail"} == {
        "index equals notes"
    }
    assert {check.state for check in memory.doctor(fix=True)} == {"ok"}


def test_a_deleted_index_is_rebuilt_with_the_same_content(memory: VaultMemory):
    import shutil

    before = memory.notes()
    hits = memory.search("crane stork", scopes=memory.scopes()).hits
    memory.vault.indexing.close()
    shutil.rmtree(memory.vault.state.index_folder)

    assert memory.search("crane stork", scopes=memory.scopes()).hits == hits
    assert memory.notes() == before


def test_a_folder_that_nobody_set_up_is_read_without_a_trace_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "USER.md").write_text("- keeps bees\n")

    with VaultMemory.open(folder, marks=False) as memory:
        [hit] = memory.search("bees", scopes=["user:main"]).hits
        assert memory.context("bees", scopes=["user:main"]).parts
        assert [path.name for path in folder.iterdir()] == ["USER.md"]

        memory.record_turn(session="s", role="user", user="main", text="I row")
        assert (folder / ".vault-memory").exists(), "the first write makes it a vault"
        assert memory.search("bees", scopes=["user:main"]).hits[0].note == hit.note

    with VaultMemory.open(folder) as memory:
        assert memory.search("row", scopes=["user:main"]).hits, "the index is the same"


def test_the_help_fits_on_three_screens():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(VaultMemory))

    assert len(text.splitlines()) <= 153


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xef\xbb\xbf## Tea\r\n\r\n- green\r\n",
        b"- caf\xe9, which is no UTF-8\n- \x00\n",
        b"no newline at the end",
    ],
)
def test_a_note_is_given_with_its_exact_bytes(memory: VaultMemory, raw: bytes) -> None:
    (memory.root / "MEMORY.md").write_bytes(raw)

    note = memory.read("MEMORY.md")
    version = memory.edits.read_version("MEMORY.md", note.revision)

    assert note.raw == version.raw == raw
    assert note.revision == sha256(raw).hexdigest()
    assert "raw" not in as_json(note)
