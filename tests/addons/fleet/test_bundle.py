"""A bundle carries what a machine must not take with it, and nothing that is this machine's own."""

import io
import json
import os
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vault_memory.addons.fleet import bundle as bundles
from vault_memory.addons.fleet.bundle import (
    TABLE,
    BundleOwner,
    collect,
    install,
    pack,
    row_of,
    unpack,
    without_secrets,
)
from vault_memory.addons.fleet.fleet_errors import AnotherFleet, BundleDamaged, BundleNewer
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.database.connection import connect
from vault_memory.errors import ConfigError

NOW = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
OWNER = BundleOwner("0" * 32, "5f0c4a1e-fleet", "secret of the hosts")


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that stays, so that a later test finds which files there were."""
    return tmp_path_factory.mktemp("bundle")


@pytest.fixture
def memory(tmp_path: Path):
    root = tmp_path / "vault"
    root.mkdir()
    note = root / "Users" / "ann" / "bot" / "config" / "USER.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Ann\n\n## Likes\n\n- tea\n")
    environment = {
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_CACHE": str(tmp_path / "cache"),
    }
    with VaultMemory.open(root, environment=environment) as opened:
        yield opened


def _talk(memory: VaultMemory) -> None:
    memory.record_turn(session="s1", role="user", text="I like tea", user="ann", now=NOW)
    line = {"op": "append", "heading": "Likes", "line": "- coffee"}
    memory.apply("Users/ann/bot/config/USER.md", [line], now=NOW)
    memory.search("tea", scopes=["user:ann"])


def _state_of(memory: VaultMemory) -> Path:
    return memory.vault.state.path


def _rewritten(raw: bytes, **changes: object) -> bytes:
    """The bundle with other values in its manifest, as another program would write them."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == bundles.MANIFEST:
                content = json.dumps(json.loads(content) | changes).encode()
            new.writestr(entry.filename, content)
    return target.getvalue()


def test_each_file_of_a_used_vault_has_a_row(memory: VaultMemory) -> None:
    _talk(memory)
    state = _state_of(memory)
    files = [file for file in state.rglob("*") if file.is_file()]
    paths = [file.relative_to(state).as_posix() for file in files]
    assert len(paths) > 5
    assert [path for path in paths if row_of(path) is None] == []


def test_each_row_of_the_table_decides_about_a_file() -> None:
    assert len({row.pattern for row in TABLE}) == len(TABLE)
    assert all(row.reason for row in TABLE)


@pytest.mark.parametrize(
    "path",
    [
        "remote-password",
        "web-sessions.json",
        "sync.sqlite",
        "index/index-1.sqlite",
        "curate.lock",
        "journal.sqlite-wal",
        "journal.sqlite.damaged-1",
        "hook.log",
        "prompts/facts.md",
        "daemon.sock",
        "place.json",
    ],
)
def test_a_file_of_this_machine_stays_on_it(path: str) -> None:
    row = row_of(path)
    assert row is not None
    assert row.treatment != "keep"


def test_pending_work_history_and_sessions_are_the_same_on_another_machine(
    memory: VaultMemory, tmp_path: Path
) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 7))
    target = tmp_path / "other"
    target.mkdir()
    opened = unpack(raw, OWNER)
    install(opened, target)
    assert opened.epoch == 7
    assert collect(target, OWNER, 8).fingerprint == opened.fingerprint
    journal = connect(target / "journal.sqlite", read_only=True)
    by = journal.execute("SELECT by FROM versions WHERE by = 'bot'").fetchall()
    assert by
    sessions = sorted((target / "sessions").glob("*/*"))
    assert [file.stat().st_mtime for file in sessions] == [NOW.timestamp()]


def test_a_bundle_of_an_open_journal_has_all_that_was_committed(memory: VaultMemory) -> None:
    _talk(memory)
    state = _state_of(memory)
    assert (state / "journal.sqlite-wal").exists()
    before = collect(state, OWNER, 1)
    line = {"op": "append", "heading": "Likes", "line": "- milk"}
    memory.apply("Users/ann/bot/config/USER.md", [line], now=NOW)
    assert collect(state, OWNER, 1).fingerprint != before.fingerprint


def test_equal_parts_make_equal_bytes(memory: VaultMemory) -> None:
    _talk(memory)
    state = _state_of(memory)
    first, second = collect(state, OWNER, 1), collect(state, OWNER, 1)
    assert pack(first) == pack(second)
    assert bundles.signature_of(state) == bundles.signature_of(state)


def test_the_signature_of_a_folder_changes_with_each_kept_file(memory: VaultMemory) -> None:
    _talk(memory)
    state = _state_of(memory)
    before = bundles.signature_of(state)
    (state / "remote-password").write_text("secret")
    assert bundles.signature_of(state) == before
    (state / "talk.json").write_text("{}")
    assert bundles.signature_of(state) != before


def test_what_was_ended_meanwhile_is_gone_after_the_installation(
    memory: VaultMemory, tmp_path: Path
) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    target = tmp_path / "other"
    (target / "sessions" / "a").mkdir(parents=True)
    (target / "sessions" / "a" / "old.open").write_text("{}")
    (target / "journal.sqlite-wal").write_bytes(b"the log of another database")
    install(unpack(raw, OWNER), target)
    assert not (target / "sessions" / "a" / "old.open").exists()
    assert not (target / "journal.sqlite-wal").exists()


def test_a_bundle_of_a_newer_version_is_left_alone(memory: VaultMemory) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    with pytest.raises(BundleNewer):
        unpack(_rewritten(raw, format=bundles.FORMAT + 1), OWNER)


def test_two_fleets_on_one_bucket_are_told_apart(memory: VaultMemory) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    with pytest.raises(AnotherFleet):
        unpack(raw, replace(OWNER, fleet="another"))


def test_a_bundle_does_not_reveal_what_signs_it(memory: VaultMemory) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert OWNER.secret.encode() not in archive.read(bundles.MANIFEST)


@pytest.mark.parametrize("changes", [{"epoch": 99}, {"vault": "1" * 32}, {"parts": {}}])
def test_a_bundle_that_another_program_changed_is_refused(
    memory: VaultMemory, changes: dict[str, object]
) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    with pytest.raises(BundleDamaged):
        unpack(_rewritten(raw, **changes), OWNER)


def test_a_bundle_of_another_vault_is_refused(memory: VaultMemory) -> None:
    raw = pack(collect(_state_of(memory), OWNER, 1))
    with pytest.raises(BundleDamaged, match="another vault"):
        unpack(raw, replace(OWNER, vault="1" * 32))


def test_half_a_bundle_is_refused(memory: VaultMemory) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    for length in (0, 1, 100, len(raw) // 2, len(raw) - 1):
        with pytest.raises(BundleDamaged):
            unpack(raw[:length], OWNER)


def test_a_planted_part_is_refused(memory: VaultMemory) -> None:
    _talk(memory)
    raw = pack(collect(_state_of(memory), OWNER, 1))
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            is_journal = entry.filename.endswith("journal.sqlite")
            new.writestr(entry.filename, b"planted" if is_journal else old.read(entry))
    with pytest.raises(BundleDamaged, match="journal"):
        unpack(target.getvalue(), OWNER)


def test_a_link_in_the_state_folder_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password")
    state = tmp_path / "state"
    state.mkdir()
    os.symlink(secret, state / "talk.json")
    assert collect(state, OWNER, 1).files == ()


CONFIG = """\
# What the person chose.
[recall]
budget = 100  # short

[remote]
url = "https://cloud.example/files"
user = "ann"

[learning]
remembered = 7

[[serve.tokens]]
name = "bot"
token = "secret-of-ann"

[serve]
port = 8001
"""


def test_the_configuration_travels_without_remote_and_tokens() -> None:
    shortened = without_secrets(CONFIG.encode()).decode()
    assert "budget = 100  # short" in shortened
    assert "remembered = 7" in shortened
    assert "secret-of-ann" not in shortened
    assert "cloud.example" not in shortened


@pytest.mark.parametrize(
    "text",
    [
        'serve.tokens = [{name = "a", token = "secret"}]\n',
        '[recall]\nnote = """\n[remote]\n"""\n',
        "[recall\n",
    ],
)
def test_a_configuration_that_cannot_be_split_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        without_secrets(text.encode())


PLANTED = frozenset({"other", "index", "vault/MEMORY.md", "vault/.vault-memory"})
"""Files that tests put into state folders, and that the program never writes"""


def test_each_state_file_of_the_tests_so_far_has_a_row(
    memory: VaultMemory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _talk(memory)
    unknown = set()
    states = 0
    for folder, folders, names in os.walk(tmp_path_factory.getbasetemp()):
        if "place.json" not in names:
            continue
        states += 1
        folders.clear()
        for file in Path(folder).rglob("*"):
            path = file.relative_to(folder).as_posix()
            if row_of(path) is None and not file.is_dir():
                unknown.add(path)
    assert states
    assert unknown <= PLANTED
