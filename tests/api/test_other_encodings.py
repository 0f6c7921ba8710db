"""A note in another encoding is found, named, forgotten, and not edited."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_process import run
from vault_memory import VaultMemory
from vault_memory.config import Config, EmbeddingSettings

SCOPES = ["user:main"]
LINES = "## Küche\n\n- Müller kocht Suppe\n- Schüssel für Gemüse\n"
ENCODINGS = {
    "latin-1": "Windows-1252",
    "cp1252": "Windows-1252",
    "utf-16": "UTF-16",
    "utf-16-be": "UTF-16",
}


def raw_in(codec: str) -> bytes:
    mark = "\ufeff" if codec == "utf-16-be" else ""
    return f"{mark}{LINES}".encode(codec)


@pytest.fixture(params=ENCODINGS)
def codec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def note(tmp_path: Path, codec: str) -> Path:
    note = tmp_path / "vault" / "Users/main/memories/kitchen.md"
    note.parent.mkdir(parents=True)
    note.write_bytes(raw_in(codec))
    (tmp_path / "vault" / "USER.md").write_text("## Me\n\n- plain\n")
    return note


@pytest.fixture
def memory(tmp_path: Path, note: Path) -> Iterator[VaultMemory]:
    config = Config(embedding=EmbeddingSettings(kind="off"))
    state = {"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    with VaultMemory.open(tmp_path / "vault", config, environment=state) as memory:
        yield memory


def path_of(note: Path) -> str:
    return f"Users/main/memories/{note.name}"


def test_its_words_are_found_and_stand_in_the_block_of_a_prompt(memory: VaultMemory, note: Path):
    hit = memory.search("Müller", scopes=SCOPES).hits[0]
    assert (hit.note, hit.lines, hit.heading) == (path_of(note), (3, 3), ("Küche",))
    assert hit.text == "- Müller kocht Suppe"
    block = memory.context("Wer kocht die Suppe, Müller?", scopes=SCOPES)
    assert "Müller kocht Suppe" in block.text


def test_it_is_read_as_text(memory: VaultMemory, note: Path):
    found = memory.read(path_of(note))
    assert (found.text, found.sections) == (LINES, ("Küche",))
    assert found.raw == note.read_bytes()


def test_edits_are_refused_and_the_bytes_stay(memory: VaultMemory, note: Path):
    before = note.read_bytes()
    for op in (
        {"op": "append", "heading": "Küche", "line": "Löffel"},
        {"op": "remove", "heading": "Küche", "match": "Suppe"},
        {"op": "replace", "heading": "Küche", "match": "Suppe", "line": "Brei"},
        {"op": "add_heading", "heading": "Bad", "lines": ["Seife"]},
    ):
        edit = memory.apply(path_of(note), [op], source="cli")
        assert [rejected.reason for rejected in edit.rejected] == ["not_text"]
    assert note.read_bytes() == before


def test_a_text_in_it_is_forgotten_in_its_encoding(memory: VaultMemory, note: Path, codec: str):
    memory.index()
    forgotten = memory.forget("Schüssel für Gemüse", scopes=SCOPES)

    assert forgotten.remaining in (0, (), {})
    assert note.read_bytes() == raw_in(codec).replace(
        "- Schüssel für Gemüse\n".encode({"utf-16": "utf-16-le"}.get(codec, codec)), b""
    )
    assert memory.search("Müller", scopes=SCOPES).hits
    assert not memory.search("Schüssel", scopes=SCOPES).hits


def test_doctor_index_and_status_name_it(
    memory: VaultMemory, note: Path, codec: str, tmp_path: Path
):
    report = memory.index()
    assert report.encodings == {path_of(note): ENCODINGS[codec]}
    [check] = [check for check in memory.doctor() if check.name == "encodings"]
    assert check.state == "warn"
    assert path_of(note) in check.reason
    assert memory.status()["index"]["encodings"] == report.encodings

    note.write_text(LINES, encoding="utf-8")
    assert memory.index().encodings == {}


@pytest.mark.sampled
def test_the_commands_name_it(
    note: Path,
    codec: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("VAULT_MEMORY_STATE", str(tmp_path / "state"))
    vault = ["--vault", str(tmp_path / "vault")]
    for command in ("index", "status", "doctor"):
        done = run([*vault, command], capsys)
        shown = " ".join((done.stdout + done.stderr).split())
        assert path_of(note) in shown
        assert ENCODINGS[codec] in shown
    done = run([*vault, "index", "--json"], capsys)
    assert json.loads(done.stdout)["encodings"] == {path_of(note): ENCODINGS[codec]}
