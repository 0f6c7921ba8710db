"""Import of a workspace: files arrive as they are, nothing is overwritten, and what is there is not brought again."""

from datetime import UTC, datetime

import pytest

from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.addons.transfer.workspace import NoWorkspace

NOW = datetime(2090, 6, 1, 12, tzinfo=UTC)
OFF = config.Config(embedding=config.EmbeddingSettings(kind="off"))
FILES = {
    "MEMORY.md": b"## Boat\r\n\r\n- red \xff\r\n",
    "USER.md": b"- **Name:** Ann",
    "SOUL.md": b"Be kind.\n",
    "AGENTS.md": b"Read SOUL.md first.\n",
    "memory/2090-05-30.md": b"# Friday\n\n- sailed\n",
    "memory/2090-05-30-dinner.md": b"- fish\n",
    "memory/projects/shed.md": b"- needs paint\n",
    "memory/.index.md": b"junk\n",
    "skills/cook/SKILL.md": b"a skill\n",
}


def written(folder, files):
    for path, raw in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(raw)
    return folder


@pytest.fixture
def source(tmp_path):
    return written(tmp_path / "workspace", FILES)


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "vault").mkdir()
    with VaultMemory.open(
        tmp_path / "vault", OFF, environment={"VAULT_MEMORY_STATE": str(tmp_path / "state")}
    ) as opened:
        yield opened


def texts(root):
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_an_imported_workspace_arrives_byte_for_byte_and_is_searchable(memory, source):
    before = texts(source)
    done = memory.transfer.import_from(source, now=NOW)

    expected = {
        path: raw for path, raw in FILES.items() if path not in ("AGENTS.md", "memory/.index.md")
    }
    del expected["skills/cook/SKILL.md"]
    found = texts(memory.root)
    assert {path: raw for path, raw in found.items() if path != ".vault-memory"} == expected
    assert (done.notes, done.left, done.skipped) == (sorted(expected), ["AGENTS.md"], [])
    assert memory.search("paint", scopes=["group:main"]).hits
    assert memory.search("Ann", scopes=["user:main"]).hits
    assert texts(source) == before


def test_a_second_import_adds_nothing(memory, source):
    memory.transfer.import_from(source, now=NOW)
    before = texts(memory.root)
    again = memory.transfer.import_from(source, now=NOW.replace(day=9))
    assert (again.notes, again.copies, again.known) == ([], [], 6)
    assert texts(memory.root) == before


def test_a_different_note_of_the_same_name_is_kept_and_the_import_becomes_a_copy(memory, source):
    written(memory.root, {"MEMORY.md": b"## Boat\n\n- blue\n", "SOUL.md": b"Be brief.\n"})
    done = memory.transfer.import_from(source, now=NOW)

    assert (memory.root / "MEMORY.md").read_bytes() == b"## Boat\n\n- blue\n"
    assert (memory.root / "SOUL.md").read_bytes() == b"Be brief.\n"
    copy = "MEMORY (memory copy 2090-06-01 120000 import).md"
    assert done.copies == [copy, "SOUL (memory copy 2090-06-01 120000 import).md"]
    assert (memory.root / copy).read_bytes() == FILES["MEMORY.md"]
    assert copy in {one.path for one in memory.conflicts()}
    again = memory.transfer.import_from(source, now=NOW.replace(day=9))
    assert (again.notes, again.copies) == ([], [])


def test_a_note_that_already_contains_the_imported_text_needs_no_copy(memory, source):
    more = b"# Friday\n\n- sailed\n- slept\n"
    written(memory.root, {"memory/2090-05-30.md": more})
    done = memory.transfer.import_from(source, now=NOW)
    assert done.copies == []
    assert (memory.root / "memory/2090-05-30.md").read_bytes() == more


def test_memories_of_hermes_go_to_the_root_of_the_vault(memory, tmp_path):
    home = written(
        tmp_path / "hermes",
        {
            "memories/MEMORY.md": "uses pnpm\n§\nlikes tea\n".encode(),
            "memories/USER.md": b"Ann\n",
            "SOUL.md": b"x\n",
            "config.yaml": b"key: secret\n",
        },
    )
    memory.transfer.import_from(home, now=NOW)
    assert sorted(texts(memory.root)) == [".vault-memory", "MEMORY.md", "SOUL.md", "USER.md"]


def test_a_legacy_persona_becomes_the_persona(memory, tmp_path):
    legacy = tmp_path / "CLAUDE.md"
    legacy.write_bytes(b"Be kind.\r\n")
    assert memory.transfer.import_from(legacy, scopes=["user:main"], now=NOW).notes == []
    assert memory.transfer.import_from(legacy, now=NOW).notes == ["SOUL.md"]
    assert (memory.root / "SOUL.md").read_bytes() == b"Be kind.\r\n"
    assert memory.transfer.import_from(legacy, now=NOW).known == 1
    legacy.write_bytes(b"Be brief.\n")
    assert memory.transfer.import_from(legacy, now=NOW).copies == [
        "SOUL (memory copy 2090-06-01 120000 import).md"
    ]
    assert (memory.root / "SOUL.md").read_bytes() == b"Be kind.\r\n"
    assert legacy.exists()


def test_only_the_named_scopes_are_imported(memory, source):
    memory.transfer.import_from(source, scopes=["user:main"], now=NOW)
    assert sorted(texts(memory.root)) == [".vault-memory", "USER.md"]


def test_a_dry_run_writes_nothing(memory, source):
    written(memory.root, {"MEMORY.md": b"- blue\n"})
    before = texts(memory.root)
    would = memory.transfer.import_from(source, now=NOW, dry_run=True)
    assert texts(memory.root) == before
    did = memory.transfer.import_from(source, now=NOW)
    assert (would.notes, would.copies, would.left) == (did.notes, did.copies, did.left)


def test_symlinks_out_of_a_workspace_are_not_followed(memory, source, tmp_path):
    (tmp_path / "secret.md").write_text("secret\n")
    (source / "memory/secret.md").symlink_to(tmp_path / "secret.md")
    (source / "USER.md").unlink()
    (source / "USER.md").symlink_to(tmp_path / "secret.md")
    done = memory.transfer.import_from(source, now=NOW)
    assert {one.path for one in done.skipped} == {"memory/secret.md", "USER.md"}
    assert b"secret\n" not in texts(memory.root).values()


def test_a_symlink_in_the_vault_does_not_redirect_the_import_outside(memory, source, tmp_path):
    (tmp_path / "outside").mkdir()
    (memory.root / "memory").symlink_to(tmp_path / "outside")
    memory.transfer.import_from(source, now=NOW)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_folder_that_is_not_a_workspace_is_refused(memory, source, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", memory.root, tmp_path):
        with pytest.raises(NoWorkspace):
            memory.transfer.import_from(folder, now=NOW)


def test_the_command_lists_imported_and_other_files(source, tmp_path):
    outside = Outside(tmp_path / "theirs", tmp_path / "home")
    outside.home.mkdir()
    outside.vault.mkdir()
    said = outside.ok("import", str(source))
    assert (len(said["notes"]), said["left"], said["copies"], said["skipped"]) == (
        6,
        ["AGENTS.md"],
        [],
        [],
    )
