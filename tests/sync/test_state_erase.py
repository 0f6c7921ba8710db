"""A forgotten name leaves the sync state, unless the server still has a file of that name."""

from pathlib import Path

from vault_memory.remote.contract import Entry
from vault_memory.sync.observe import etag_audit, server_backup
from vault_memory.sync.state_db import FILE, FileHash, OpenUpload, open_state
from vault_memory.sync.state_erase import erase_names
from vault_memory.sync.trees import BaseFile

OLD, OTHER = "memory/Zephyrine plan.md", "memory/plan.md"


def filled(folder: Path, *, on_server: bool) -> None:
    state = open_state(folder)
    with state.transaction():
        for path in (OLD, OTHER):
            state.set_base(path, BaseFile("h", "t", "1", "2"))
            state.store_hashes({path: FileHash(1, 2, 3, 4, "h")})
            state.store_fetched(path, "t", "h")
            state.record_rewrite(path, "us", 1.0)
            state.begin_uploads([OpenUpload(path, "h", 1, "t")])
            for fact in ("delivery", "overwrote", "refused", "versions"):
                state.set_meta(f"{fact} {path}", {"path": path})
        state.set_meta(server_backup.FACT, {OLD: ["h1", "h2"], OTHER: ["h1", "h2"]})
        state.set_meta(etag_audit.NEXT, OLD)
        state.store_listing(
            {path: entry(path) for path in ((OLD, OTHER) if on_server else (OTHER,))}
        )
    state.close()


def entry(path: str) -> Entry:
    return Entry(path=path, is_folder=False, etag="t", size=1, modified=0, fileid="2", checksum="")


def contains_name(path: str) -> bool:
    return "Zephyrine" in path


def bytes_of(state: Path) -> bytes:
    return b"".join(path.read_bytes() for path in state.glob(f"{FILE}*"))


def test_a_name_absent_from_both_sides_is_erased_to_the_last_byte(tmp_path: Path):
    filled(tmp_path, on_server=False)
    assert b"Zephyrine" in bytes_of(tmp_path)

    erased = erase_names(tmp_path, contains_name, lambda path: path == OTHER)

    assert erased.count
    assert (erased.on_server, erased.compacted) == (0, True)
    assert b"Zephyrine" not in bytes_of(tmp_path)
    state = open_state(tmp_path)
    assert list(state.base()) == [OTHER]
    assert state.meta(f"delivery {OTHER}") == {"path": OTHER}
    assert state.meta(server_backup.FACT) == {OTHER: ["h1", "h2"]}
    state.close()


def test_a_name_still_on_the_server_is_kept_so_that_its_file_can_be_deleted(tmp_path: Path):
    filled(tmp_path, on_server=True)

    erased = erase_names(tmp_path, contains_name, lambda path: path == OTHER)

    assert erased.on_server == 1
    state = open_state(tmp_path)
    assert sorted(state.base()) == [OLD, OTHER]
    assert state.meta(f"delivery {OLD}") == {"path": OLD}
    state.close()


def test_a_name_still_in_the_vault_is_kept(tmp_path: Path):
    filled(tmp_path, on_server=False)

    assert erase_names(tmp_path, contains_name, lambda path: True).count == 0


def test_without_sync_state_there_is_nothing_to_erase(tmp_path: Path):
    assert erase_names(tmp_path, contains_name, lambda path: False).count == 0
    assert not list(tmp_path.iterdir())
