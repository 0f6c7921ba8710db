"""A forgotten name leaves the sync state, unless the server still has a file of that name."""

from pathlib import Path

from vault_memory.remote.contract import Entry
from vault_memory.sync.observe import etag_audit, server_backup
from vault_memory.sync.state_db import FILE, Sent, open_book
from vault_memory.sync.state_erase import erase_names
from vault_memory.sync.trees import BaseFile

OLD, OTHER = "memory/Zephyrine plan.md", "memory/plan.md"


def filled(state: Path, *, on_server: bool) -> None:
    book = open_book(state)
    with book.writing():
        for path in (OLD, OTHER):
            book.agree(path, BaseFile("h", "t", "1", "2"))
            book.hashed([(path, 1, 2, 3, 4, "h")])
            book.fetched(path, "t", "h")
            book.rewrote(path, "us", 1.0)
            book.send([Sent(path, "h", 1, "t")])
            for fact in ("delivery", "overwrote", "refused", "versions"):
                book.say(f"{fact} {path}", {"path": path})
        book.say(server_backup.FACT, {OLD: ["h1", "h2"], OTHER: ["h1", "h2"]})
        book.say(etag_audit.NEXT, OLD)
        book.listed(
            {path: entry(path) for path in ((OLD, OTHER) if on_server else (OTHER,))}
        )
    book.close()


def entry(path: str) -> Entry:
    return Entry(
        path=path,
        is_folder=False,
        etag="t",
        size=1,
        modified=0,
        fileid="2",
        checksum="",
    )


def holds(path: str) -> bool:
    return "Zephyrine" in path


def bytes_of(state: Path) -> bytes:
    return b"".join(path.read_bytes() for path in state.glob(f"{FILE}*"))


def test_a_name_that_neither_side_has_leaves_no_byte(tmp_path: Path):
    filled(tmp_path, on_server=False)
    assert b"Zephyrine" in bytes_of(tmp_path)

    erased = erase_names(tmp_path, holds, lambda path: path == OTHER)

    assert erased.count
    assert (erased.on_server, erased.compacted) == (0, True)
    assert b"Zephyrine" not in bytes_of(tmp_path)
    book = open_book(tmp_path)
    assert list(book.base()) == [OTHER]
    assert book.said(f"delivery {OTHER}") == {"path": OTHER}
    assert book.said(server_backup.FACT) == {OTHER: ["h1", "h2"]}
    book.close()


def test_a_name_that_the_server_has_stays_so_that_the_file_is_deleted_there(
    tmp_path: Path,
):
    filled(tmp_path, on_server=True)

    erased = erase_names(tmp_path, holds, lambda path: path == OTHER)

    assert erased.on_server == 1
    book = open_book(tmp_path)
    assert sorted(book.base()) == [OLD, OTHER]
    assert book.said(f"delivery {OLD}") == {"path": OLD}
    book.close()


def test_a_name_that_is_here_is_left_alone(tmp_path: Path):
    filled(tmp_path, on_server=False)

    assert erase_names(tmp_path, holds, lambda path: True).count == 0


def test_without_sync_there_is_nothing_to_erase(tmp_path: Path):
    assert erase_names(tmp_path, holds, lambda path: False).count == 0
    assert not list(tmp_path.iterdir())
