"""What lies in a vault, and the bytes of a note: nothing unseen is called absent, and no link leads out."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest

from vault_memory.errors import BadPath, NoteNotFound, NoteUnreadable, VaultError, VaultUnreachable
from vault_memory.rules.paths.filenames import clashes
from vault_memory.vault.marker import VaultTooNew, ensure_marker, read_marker
from vault_memory.vault.reader import Folder, Identity, NoteTooLarge
from vault_memory.vault.safe_open import open_beneath, open_stepwise

OPENERS = [open_beneath, open_stepwise]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_bytes(b"SECRET\n")
    return tmp_path / "outside"


def test_a_listing_has_each_note_with_its_size_and_times(vault):
    listing = Folder(vault).listing()

    assert sorted(listing.entries) == ["USER.md", "memory/boat.md", "memory/sub/deep.md"]
    found = os.stat(vault / "memory/boat.md")
    seen = listing.entries["memory/boat.md"]
    assert (seen.size, seen.mtime_ns, seen.ctime_ns, seen.ino) == (
        5,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_ino,
    )
    assert sorted(listing.folders) == ["", "memory", "memory/sub"]
    assert listing.covers("memory/gone.md")


def test_a_listing_of_a_folder_has_only_its_own_notes(vault):
    folder = Folder(vault)

    assert sorted(folder.listing("memory").entries) == ["memory/boat.md", "memory/sub/deep.md"]
    assert folder.listing("nowhere").entries == {}
    assert folder.listing(".obsidian").entries == {}
    assert folder.listing("USER.md").entries == {}


def test_junk_hidden_folders_and_other_files_are_not_listed(vault):
    for name in (
        ".USER.md.~0a1b",
        "USER.md~",
        ".#USER.md.md",
        "picture.png",
        "n.md.part",
        "~$n.md",
        ".hidden.md",
    ):
        (vault / name).write_bytes(b"x")
    for name in (".git", ".obsidian", ".trash", ".stversions"):
        (vault / name).mkdir()
        (vault / name / "x.md").write_bytes(b"x")
    (vault / "USER (conflicted copy 2026-01-28 101112).md").write_bytes(b"x")

    listing = Folder(vault).listing()

    assert sorted(listing.entries) == ["USER.md", "memory/boat.md", "memory/sub/deep.md"]
    assert listing.unknown == {}
    assert listing.copies == ["USER (conflicted copy 2026-01-28 101112).md"]
    assert "picture.png" in Folder(vault).listing(suffixes=("",)).entries


def test_a_note_is_read_byte_for_byte(vault):
    raw = b"\xff\xfe\x00not utf-8\r\n\x00"
    (vault / "USER.md").write_bytes(raw)

    note = Folder(vault).read("USER.md")

    assert (note.raw, note.revision, note.stable) == (raw, hashlib.sha256(raw).hexdigest(), True)
    assert note.stat.size == len(raw)
    assert "not utf-8" not in repr(note)


def test_a_missing_note_is_distinguished_from_an_unreadable_one(vault):
    folder = Folder(vault)

    with pytest.raises(NoteNotFound):
        folder.read("memory/none.md")
    with pytest.raises(NoteNotFound):
        folder.read("USER.md/none.md")
    with pytest.raises(NoteNotFound):
        folder.read("memory")
    assert folder.stat("none.md") is None
    assert folder.stat("USER.md").size == 6


def test_a_note_that_grows_during_the_read_is_not_stable(vault, monkeypatch):
    read = os.read

    def read_while_somebody_writes(fd: int, size: int) -> bytes:
        raw = read(fd, size)
        with open(vault / "USER.md", "ab") as file:
            file.write(b"more\n")
        return raw

    monkeypatch.setattr(os, "read", read_while_somebody_writes)

    note = Folder(vault).read("USER.md")

    assert not note.stable
    assert note.raw == b"# Ann\n"


@pytest.mark.scenario("H122", "F112")
def test_a_note_that_is_too_large_is_refused_unread_without_affecting_others(vault):
    with open(vault / "memory/huge.md", "wb") as file:
        file.truncate(300 << 20)
    (vault / "memory/line.md").write_bytes(b"x " * (1 << 19) + b"x\n")
    folder = Folder(vault)

    listing = folder.listing()

    assert listing.entries["memory/huge.md"].size == 300 << 20
    for path in ("memory/huge.md", "memory/line.md"):
        with pytest.raises(NoteTooLarge, match="are more than the 1,048,576"):
            folder.read(path)
    assert folder.read("memory/line.md", max_bytes=8 << 20).raw.endswith(b"x\n")
    assert folder.read("memory/boat.md").raw == b"Gull\n"


def test_pipes_and_devices_are_unknown_and_do_not_block(vault):
    os.mkfifo(vault / "pipe.md")
    folder = Folder(vault)

    assert folder.listing().unknown == {"pipe.md": "it is no plain file"}
    with pytest.raises(NoteUnreadable, match="no plain file"):
        folder.read("pipe.md")


@pytest.mark.scenario("H120", "C24")
def test_symlinks_are_not_followed(vault, outside):
    (vault / "out.md").symlink_to(outside / "secret.md")
    (vault / "away").symlink_to(outside)
    (vault / "dangling.md").symlink_to("nowhere.md")
    (vault / ".#USER.md").symlink_to("ann@pi4.123:456")
    (vault / "inner.md").symlink_to("memory/boat.md")
    (vault / "memory/again").symlink_to("sub")
    (vault / "loop.md").symlink_to("loop.md")
    folder = Folder(vault)

    listing = folder.listing()

    assert sorted(listing.entries) == ["USER.md", "memory/boat.md", "memory/sub/deep.md"]
    assert sorted(listing.links) == ["inner.md", "memory/again"]
    assert set(listing.unknown) == {"out.md", "away", "dangling.md", "loop.md"}
    assert "leads out" in listing.unknown["away"]
    assert not listing.covers("away/secret.md")
    assert folder.listing("away").entries == folder.listing("memory/again").entries == {}
    for path in ("out.md", "away/secret.md", "inner.md", "memory/again/deep.md"):
        with pytest.raises((NoteUnreadable, NoteNotFound)):
            folder.read(path)


@pytest.mark.scenario("H119")
@pytest.mark.parametrize(
    "path",
    ["../outside/secret.md", "/etc/passwd", "memory/../../outside/secret.md", "", "a\x00.md"],
)
def test_no_path_leads_out_of_the_vault(vault, outside, path):
    folder = Folder(vault)

    with pytest.raises(BadPath):
        folder.read(path)
    with pytest.raises(BadPath):
        folder.listing(path or "/")


@pytest.mark.scenario("H119", "H120")
@pytest.mark.parametrize("opener", OPENERS)
def test_both_ways_of_opening_a_file_refuse_paths_outside_the_vault(vault, outside, opener):
    (vault / "away").symlink_to(outside)
    (vault / "out.md").symlink_to(outside / "secret.md")
    root = os.open(vault, os.O_RDONLY)
    try:
        fd = opener(root, "memory/sub/deep.md")
        assert os.read(fd, 100) == b"deep\n"
        os.close(fd)
        for path in (
            "../outside/secret.md",
            "memory/../../outside/secret.md",
            "away/secret.md",
            "out.md",
            "/etc/passwd",
        ):
            with pytest.raises(OSError, match=r"\[Errno \d+\]"):
                opener(root, path)
    finally:
        os.close(root)


@pytest.mark.scenario("H120")
@pytest.mark.parametrize("opener", OPENERS)
def test_a_folder_swapped_for_a_symlink_during_a_scan_leaks_nothing(
    vault, outside, opener, monkeypatch
):
    monkeypatch.setattr("vault_memory.vault.reader.open_beneath", opener)
    (vault / "swap").mkdir()
    (vault / "swap/secret.md").write_bytes(b"inside\n")
    (vault / ".link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(vault / "swap", vault / ".folder")
            os.rename(vault / ".link", vault / "swap")
            os.rename(vault / "swap", vault / ".link")
            os.rename(vault / ".folder", vault / "swap")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen, refused = set(), 0
    folder = Folder(vault)
    inode = os.stat(outside / "secret.md").st_ino
    try:
        for _ in range(1500):
            try:
                seen.add(folder.read("swap/secret.md").raw)
            except (NoteNotFound, NoteUnreadable):
                refused += 1
            assert inode not in {stat.ino for stat in folder.listing().entries.values()}
    finally:
        stop.set()
        swapper.join()

    assert seen <= {b"inside\n"}
    assert refused


@pytest.mark.scenario("F108")
def test_names_that_clash_on_other_systems_are_both_listed(vault):
    for name in ("Tee.md", "tee.md", "\u00f6.md", "o\u0308.md"):
        (vault / name).write_text(name)

    listing = Folder(vault).listing()

    assert {"Tee.md", "tee.md", "\u00f6.md", "o\u0308.md"} <= set(listing.entries)
    assert clashes(listing.entries) == [("Tee.md", "tee.md"), ("o\u0308.md", "\u00f6.md")]


@pytest.mark.scenario("F109", "C58")
def test_a_name_that_cannot_be_indexed_is_listed_with_its_reason(vault):
    names = [b"\xff.md", b"new\nline.md", b"back\\slash.md", b"esc\x1b.md"]
    for name in names:
        with open(os.fsencode(vault) + b"/" + name, "wb"):
            pass
    os.mkdir(os.fsencode(vault) + b"/bad\xffdir")
    fine = ["CON.md", "a:b.md", "end. .md", "🌊.md", "x" * 252 + ".md", "rtl\u202e.md"]
    for name in fine:
        (vault / name).write_bytes(b"x")

    listing = Folder(vault).listing()

    assert set(fine) <= set(listing.entries)
    assert {os.fsencode(path) for path in listing.unknown} == {*names, b"bad\xffdir"}
    assert listing.unknown[os.fsdecode(b"\xff.md")] == "its name is not valid UTF-8"
    assert not listing.covers(os.fsdecode(b"bad\xffdir/x.md"))


@pytest.mark.scenario("F110")
@pytest.mark.parametrize("depth", [2_500, pytest.param(10_000, marks=pytest.mark.deep)])
def test_a_very_deep_tree_is_listed_partly_and_reported(large_vault, depth):
    here = os.open(large_vault, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        listing = Folder(large_vault).listing()
    finally:
        subprocess.run(["rm", "-rf", str(large_vault / "d")], check=True)

    assert "USER.md" in listing.entries
    assert list(listing.unknown.values()) == ["it is more than 64 folders deep"]
    assert not listing.covers("/".join(["d"] * 70) + "/x.md")


@pytest.mark.scenario("F110")
def test_a_very_wide_folder_is_listed_partly_and_reported(vault, monkeypatch):
    monkeypatch.setattr("vault_memory.vault.listing.MOST", 50)
    for number in range(60):
        (vault / f"{number}.md").touch()

    listing = Folder(vault).listing()

    assert listing.truncated
    assert len(listing.entries) == 50
    assert listing.unknown == {"": "there are more than 50 files"}
    assert not listing.covers("memory/boat.md")


@pytest.mark.deep
@pytest.mark.scenario("F110")
def test_a_hundred_thousand_notes_in_one_folder_are_listed(large_vault):
    for number in range(100_000):
        os.close(os.open(large_vault / f"memory/{number}.md", os.O_CREAT | os.O_WRONLY))

    assert len(Folder(large_vault).listing().entries) == 100_003


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can take rights away from itself and have them back"
)
def test_an_unreadable_folder_is_unknown():
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "closed").mkdir(mode=0o700)
        (root / "closed/x.md").write_bytes(b"x")
        (root / "mine.md").write_bytes(b"x")
        (root / "mine.md").chmod(0o600)
        Folder(root).read(
            "mine.md"
        )  # what is imported on first use might not be readable for the other user
        os.seteuid(65534)
        try:
            folder = Folder(root)
            listing = folder.listing()
            with pytest.raises(NoteUnreadable, match="permission denied"):
                folder.read("mine.md")
            with pytest.raises(NoteUnreadable, match="permission denied"):
                folder.read("closed/x.md")
        finally:
            os.seteuid(0)

    assert listing.unknown == {"closed": "Permission denied"}
    assert not listing.covers("closed/x.md")
    assert "mine.md" in listing.entries


@pytest.mark.scenario("C60", "C61")
def test_a_same_size_change_or_a_reset_mtime_shows_in_the_listing(vault):
    folder = Folder(vault)
    before = folder.listing().entries["memory/boat.md"]
    (vault / "memory/boat.md").write_bytes(b"Tern\n")
    os.utime(vault / "memory/boat.md", ns=(before.mtime_ns, before.mtime_ns))

    after = folder.listing().entries["memory/boat.md"]

    assert (after.size, after.mtime_ns, after.ino) == (before.size, before.mtime_ns, before.ino)
    assert after != before


def test_the_marker_is_written_once_and_then_only_read(vault):
    assert read_marker(vault) is None

    first = ensure_marker(vault)

    assert (
        ensure_marker(vault)
        == first
        == read_marker(vault)
        == Folder(vault).ensure_marker()
        == Folder(vault).marker()
    )
    assert json.loads((vault / ".vault-memory").read_bytes()) == {"vault": first.vault, "format": 1}
    assert sorted(path.name for path in vault.iterdir()) == [".vault-memory", "USER.md", "memory"]


def test_concurrent_writers_of_the_marker_all_get_the_same_id(vault):
    found = set()
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait()
        found.add(ensure_marker(vault))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 1


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"[1]", b"\xff", b'{"vault": "x", "format": 1}', b'{"vault": 1, "format": 1}'],
)
def test_a_damaged_marker_is_not_overwritten(vault, raw):
    (vault / ".vault-memory").write_bytes(raw)

    with pytest.raises(VaultUnreachable, match="damaged"):
        ensure_marker(vault)
    assert (vault / ".vault-memory").read_bytes() == raw


def test_a_vault_of_a_newer_version_is_refused(vault):
    (vault / ".vault-memory").write_text('{"vault": "' + "a" * 32 + '", "format": 2}')

    with pytest.raises(VaultTooNew, match="has format 2"):
        ensure_marker(vault)


def test_a_missing_folder_is_unreachable(tmp_path):
    for call in (Folder, ensure_marker):
        with pytest.raises(VaultUnreachable):
            call(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(VaultUnreachable):
        Folder(tmp_path / "file")


def test_a_marker_that_cannot_be_written_is_reported(vault, monkeypatch):
    def refuse(*_args: object, **_more: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(VaultError, match="Read-only file system"):
        ensure_marker(vault)
    assert not list(vault.glob(".vault-memory*"))


@pytest.mark.scenario("C56")
def test_another_folder_in_place_of_the_vault_is_not_taken_for_it(vault, tmp_path):
    folder = Folder(vault)
    identity = folder.ensure_marker().vault
    assert folder.check_identity(identity) is Identity.SAME
    vault.rename(tmp_path / "old")
    vault.mkdir()

    for look in (
        folder.listing,
        lambda: folder.read("USER.md"),
        lambda: folder.check_identity(identity),
    ):
        with pytest.raises(VaultUnreachable):
            look()

    other = ensure_marker(vault)
    with pytest.raises(VaultUnreachable, match="another vault"):
        folder.check_identity(identity)
    assert other.vault != identity


@pytest.mark.scenario("C56")
def test_a_restored_vault_is_recognised_as_the_same_vault_in_a_new_folder(vault, tmp_path):
    folder = Folder(vault)
    identity = folder.ensure_marker().vault
    vault.rename(tmp_path / "old")
    subprocess.run(["cp", "-a", str(tmp_path / "old"), str(vault)], check=True)

    assert folder.check_identity(identity) is Identity.REPLACED
    assert folder.check_identity(identity) is Identity.SAME
    assert "USER.md" in folder.listing().entries


@pytest.mark.scenario("C57")
def test_a_vault_on_an_unmounted_disk_is_unreachable_and_does_not_block_the_unmount(
    tmp_path, project
):
    script = textwrap.dedent("""
        import subprocess, sys
        from pathlib import Path
        from vault_memory.errors import VaultUnreachable
        from vault_memory.vault.reader import Folder, Identity; from vault_memory.vault.watch.watcher import Watcher

        root = Path(sys.argv[1])
        subprocess.run(["mount", "-t", "tmpfs", "none", str(root)], check=True)
        (root / "USER.md").write_text("x")
        folder = Folder(root)
        identity = folder.ensure_marker().vault
        watcher = Watcher(root)
        watcher.start()
        assert folder.read("USER.md").raw == b"x"
        watcher.take(1)
        subprocess.run(["umount", str(root)], check=True)
        hints = watcher.take(5)
        assert hints.rescan, hints
        for look in (folder.listing, lambda: folder.read("USER.md"), lambda: folder.check_identity(identity)):
            try:
                print("not noticed", look())
            except VaultUnreachable as error:
                print("unreachable")
        watcher.stop()
    """)
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
        check=False,
        timeout=60,
    )
    if "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("this system does not let a test have a mount namespace of its own")

    assert done.stdout.splitlines() == ["unreachable"] * 3, done.stderr
