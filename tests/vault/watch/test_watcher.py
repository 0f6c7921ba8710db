"""When to look again: real folders, real events, and everything that makes events go missing."""

import mmap
import os
import random
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vault_memory.config.sections import Watch
from vault_memory.vault.reader import Folder
from vault_memory.vault.watch.change_queue import ChangeHints, QueueMarker
from vault_memory.vault.watch.mounts import file_system, watchable
from vault_memory.vault.watch.watcher import OwnEvents, Watcher

PATIENCE = 120.0


@pytest.fixture
def watching() -> Iterator[Callable[..., Watcher]]:
    """Start a watcher, take its first rescan, and stop it in the end."""
    started = []

    def start(root: Path, **settings: object) -> Watcher:
        watcher = Watcher(root, **settings)
        started.append(watcher)
        watcher.start()
        assert watcher.take(PATIENCE).rescan
        return watcher

    yield start
    for watcher in started:
        watcher.stop()


def hints_until(watcher: Watcher, wanted: Callable[[ChangeHints], bool]) -> list[ChangeHints]:
    """All hints up to those that were wanted."""
    end = time.monotonic() + PATIENCE
    found = []
    while time.monotonic() < end:
        found.append(watcher.take(end - time.monotonic()))
        if wanted(found[-1]):
            return found
    raise AssertionError(f"only these hints came: {found}")


def hints_until_marked(watcher: Watcher, mark: QueueMarker) -> list[ChangeHints]:
    return hints_until(watcher, lambda hints: mark in hints.marks)


def a_rescan(hints: ChangeHints) -> bool:
    return hints.rescan and not hints.sweep


def look(root: Path, hints: ChangeHints) -> set[str]:
    """The notes that a taker of these hints would find, as far as they are there."""
    folder = Folder(root)
    if hints.rescan:
        return set(folder.listing().entries)
    found = {path for path in hints.paths if folder.stat(path)}
    for subtree in hints.subtrees:
        found |= set(folder.listing(subtree).entries)
    return found


def found_until(root: Path, watcher: Watcher, wanted: set[str]) -> None:
    """Look wherever hinted until all wanted notes were found."""
    found: set[str] = set()

    def seen(hints: ChangeHints) -> bool:
        found.update(look(root, hints))
        return found >= wanted

    hints_until(watcher, seen)


def test_after_the_start_the_entire_vault_is_listed(vault):
    watcher = Watcher(vault)
    watcher.start()
    try:
        assert watcher.take(PATIENCE) == ChangeHints(rescan=True, reason="the watch began")
        assert (watcher.mode, watcher.healthy, watcher.reason, watcher.folders) == (
            "inotify",
            True,
            "",
            3,
        )
        assert not watcher.take(0)
    finally:
        watcher.stop()


def test_a_save_in_place_or_by_rename_is_hinted_as_closed(vault, watching):
    watcher = watching(vault)

    (vault / "memory/boat.md").write_bytes(b"Tern\n")
    hints_until(watcher, lambda hints: "memory/boat.md" in hints.closed)
    (vault / "memory/.boat.md.~1").write_bytes(b"Skua\n")
    os.rename(vault / "memory/.boat.md.~1", vault / "memory/boat.md")
    found = hints_until(watcher, lambda hints: "memory/boat.md" in hints.closed)

    assert {path for hints in found for path in hints.paths} == {"memory/boat.md"}


def test_an_unfinished_write_is_hinted_as_open(vault, watching):
    watcher = watching(vault)

    with open(vault / "memory/boat.md", "ab", buffering=0) as file:
        file.write(b"more")
        found = hints_until(watcher, lambda hints: "memory/boat.md" in hints.paths)
        assert not any(hints.closed for hints in found)
    hints_until(watcher, lambda hints: "memory/boat.md" in hints.closed)


def test_a_change_of_permissions_does_not_hide_a_closed_save(vault, watching):
    watcher = watching(vault)

    (vault / "memory/boat.md").write_bytes(b"Tern\n")
    os.chmod(vault / "memory/boat.md", 0o640)
    os.utime(vault / "memory/boat.md", ns=(0, 0))

    hints_until(watcher, lambda hints: "memory/boat.md" in hints.closed)


def test_junk_and_other_files_cause_no_hint(vault, watching):
    watcher = watching(vault)
    for name in (".USER.md.~1", ".USER.md.swp", "4913", "USER.md~", "picture.png", "n.md.part"):
        (vault / name).write_bytes(b"x")
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian/workspace.md").write_bytes(b"x")
    (vault / "USER.md").write_bytes(b"end")

    found = hints_until(watcher, lambda hints: "USER.md" in hints.closed)

    assert {path for hints in found for path in (*hints.paths, *hints.subtrees)} == {"USER.md"}


def test_reading_a_vault_causes_no_hint(vault, watching):
    watcher = watching(vault)
    folder = Folder(vault)
    for _ in range(3):
        for path in folder.listing().entries:
            folder.read(path)

    assert not watcher.take(0.05)


def test_a_removed_note_is_hinted(vault, watching):
    watcher = watching(vault)
    (vault / "memory/boat.md").unlink()

    hints_until(watcher, lambda hints: "memory/boat.md" in hints.closed)


@pytest.mark.sampled
@pytest.mark.scenario("C52")
def test_an_event_queue_overflow_relists_everything_and_watches_new_folders(large_vault, watching):
    watcher = watching(large_vault)
    with (
        watcher._queue._ready
    ):  # the thread that reads cannot put its hints away, and so reads no further
        for number in range(6000):
            (large_vault / f"memory/{number}.md").write_bytes(b"x")
        (large_vault / "memory/late").mkdir()
        (large_vault / "memory/late/x.md").write_bytes(b"x")

    found = hints_until(
        watcher, lambda hints: a_rescan(hints) and "more happened at once" in hints.reason
    )

    assert len(look(large_vault, found[-1])) == 6004
    assert (watcher.mode, watcher.healthy, watcher.folders) == ("inotify", True, 4)
    (large_vault / "memory/late/y.md").write_bytes(b"x")
    hints_until(watcher, lambda hints: "memory/late/y.md" in hints.closed)


@pytest.mark.deep
@pytest.mark.scenario("C52")
def test_forty_thousand_notes_written_in_a_burst_are_all_found(large_vault, watching):
    watcher = watching(large_vault)
    with watcher._queue._ready:
        for number in range(40_000):
            (large_vault / f"memory/{number}.md").write_bytes(b"x")

    found_until(large_vault, watcher, {f"memory/{number}.md" for number in range(40_000)})


@pytest.mark.parametrize("seed", range(3))
def test_all_events_before_a_mark_are_hinted_before_it_or_with_it(large_vault, watching, seed):
    chance, watcher, wanted, found = (random.Random(seed), watching(large_vault), set(), set())
    for number in range(200):
        folder = large_vault / "memory" / chance.choice(("a", "b/c", f"new/{number // 20}"))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.md").write_bytes(b"x")
        wanted.add((folder / f"{number}.md").relative_to(large_vault).as_posix())
        if chance.random() < 0.2:
            for hints in hints_until_marked(watcher, watcher.mark()):
                found |= look(large_vault, hints)
            assert wanted <= found


@pytest.mark.sampled
def test_a_mark_waits_until_lost_events_are_recovered(large_vault, watching):
    watcher = watching(large_vault)
    with watcher._queue._ready:
        for number in range(6000):
            (large_vault / f"memory/{number}.md").write_bytes(b"x")

    found = hints_until_marked(watcher, watcher.mark())

    assert len(set().union(*(look(large_vault, hints) for hints in found))) == 6003


def test_a_mark_survives_the_end_of_the_watching_thread(vault, watching):
    watcher = watching(vault)
    watcher._events.handle_event = None
    (vault / "memory/boat.md").write_bytes(b"x")
    watcher._events.join(PATIENCE)
    mark = QueueMarker()
    assert watcher._events.mark(mark)

    assert hints_until_marked(watcher, mark)[-1].rescan


LIMITED = """
    import sys, time
    from pathlib import Path
    from vault_memory.config.sections import Watch
    from vault_memory.vault.watch.watcher import OwnEvents, Watcher

    root, limit = Path(sys.argv[1]), Path("/proc/sys/user") / sys.argv[2]
    before = limit.read_text()
    limit.write_text(sys.argv[3])
    watcher = Watcher(root, settings=Watch(poll_seconds=0.05, sweep_seconds=0.2))
    watcher.start()
    first = watcher.take(5)
    print(first.rescan, watcher.mode, watcher.healthy, watcher.reason)
    if watcher.mode == "inotify":
        for number in range(30):
            (root / f"new{number}").mkdir()
        while watcher.mode == "inotify":
            watcher.take(5)
        print(True, watcher.mode, watcher.healthy, watcher.reason)
    print(watcher.take(5).rescan, watcher.take(5).rescan)
    limit.write_text(before)
    while watcher.mode == "polling":
        hints = watcher.take(5)
    print(hints.rescan, hints.reason, watcher.mode, watcher.healthy, watcher.reason)
    watcher.stop()
"""


def in_a_namespace(project: Path, script: str, *args: object) -> list[str]:
    """Run a script where the limits on inotify and the mounts are the test's own."""
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", textwrap.dedent(script), *map(str, args)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
        check=False,
        timeout=60,
    )
    if "unshare" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("this system does not let a test have limits and mounts of its own")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.scenario("C53")
@pytest.mark.parametrize("limit", [1, 20], ids=["at the start", "later"])
def test_out_of_inotify_watches_the_watcher_polls_reports_it_and_recovers(vault, project, limit):
    said = in_a_namespace(project, LIMITED, vault, "max_inotify_watches", limit)

    reason = "the system's limit of inotify watches is reached (fs.inotify.max_user_watches)"
    assert f"True polling False {reason}" in said
    assert said[-2:] == ["True True", "True events may be available again inotify True "]


@pytest.mark.scenario("C65")
def test_out_of_inotify_instances_the_watcher_polls_reports_it_and_recovers(vault, project):
    said = in_a_namespace(project, LIMITED, vault, "max_inotify_instances", 0)

    assert said[0].startswith(
        "True polling False the limit of open files or inotify instances is reached"
    )
    assert said[-1] == "True events may be available again inotify True "


COVERED = """
    import subprocess, sys
    from vault_memory.config.sections import Watch
    from vault_memory.vault.watch.watcher import OwnEvents, Watcher

    watcher = Watcher(sys.argv[1], settings=Watch(sweep_seconds=0.2))
    watcher.start()
    watcher.take(5)
    subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1]], check=True)
    while (hints := watcher.take(5)).sweep:
        pass
    print(hints.reason, watcher.mode)
    watcher.stop()
"""


@pytest.mark.scenario("C56")
def test_a_disk_mounted_over_the_vault_is_noticed_without_an_event(vault, project):
    assert in_a_namespace(project, COVERED, vault) == ["the vault's folder was replaced inotify"]


@pytest.mark.scenario("C54")
def test_a_note_in_folders_created_at_the_same_instant_is_found(vault, watching):
    watcher = watching(vault)
    for number in range(50):
        os.makedirs(vault / f"memory/{number}/b/c/d")
        (vault / f"memory/{number}/b/c/d/x.md").write_bytes(b"x")

    found_until(vault, watcher, {f"memory/{number}/b/c/d/x.md" for number in range(50)})
    # A folder of which the watcher has still to tell would hide the change in it.
    while watcher.take(0.2):
        pass
    (vault / "memory/49/b/c/d/y.md").write_bytes(b"x")
    hints_until(watcher, lambda hints: "memory/49/b/c/d/y.md" in hints.paths)


@pytest.mark.scenario("C54")
def test_folders_created_removed_and_recreated_end_up_watched(vault, watching):
    watcher = watching(vault)
    for _ in range(100):
        os.makedirs(vault / "memory/a/b")
        (vault / "memory/a/b/x.md").write_bytes(b"x")
        shutil.rmtree(vault / "memory/a")
    os.makedirs(vault / "memory/a/b")
    (vault / "memory/a/b/x.md").write_bytes(b"x")

    found_until(vault, watcher, {"memory/a/b/x.md"})
    while watcher.take(0.2):
        pass
    (vault / "memory/a/b/y.md").write_bytes(b"x")
    hints_until(watcher, lambda hints: "memory/a/b/y.md" in hints.paths)
    assert watcher.folders == 5


@pytest.mark.scenario("C55")
def test_a_folder_is_watched_only_while_it_is_inside_the_vault(vault, tmp_path, watching):
    watcher = watching(vault)
    (tmp_path / "trip/log").mkdir(parents=True)
    shutil.copy(vault / "memory/boat.md", tmp_path / "trip/log")

    os.rename(tmp_path / "trip", vault / "trip")
    found_until(vault, watcher, {"trip/log/boat.md"})
    os.rename(vault / "trip", vault / "memory/trip")
    found_until(vault, watcher, {"memory/trip/log/boat.md"})
    (vault / "memory/trip/log/boat.md").write_bytes(b"x")
    hints_until(watcher, lambda hints: "memory/trip/log/boat.md" in hints.closed)
    assert watcher.folders == 5

    os.rename(vault / "memory/trip", tmp_path / "trip")
    hints_until(watcher, lambda hints: "memory/trip" in hints.subtrees)
    (tmp_path / "trip/log/boat.md").write_bytes(b"outside")
    assert not watcher.take(0.05)
    assert watcher.folders == 3


@pytest.mark.scenario("C56")
def test_a_replaced_vault_is_watched_again(vault, tmp_path, watching):
    watcher = watching(vault, settings=Watch(poll_seconds=0.05))
    vault.rename(tmp_path / "old")
    (vault / "memory").mkdir(parents=True)

    hints_until(watcher, a_rescan)
    (vault / "memory/new.md").write_bytes(b"x")
    found_until(vault, watcher, {"memory/new.md"})
    (vault / "memory/new.md").write_bytes(b"y")
    hints_until(
        watcher, lambda hints: watcher.mode == "inotify" and "memory/new.md" in hints.closed
    )
    (tmp_path / "old/USER.md").write_bytes(b"x")
    assert "USER.md" not in watcher.take(0.05).paths


@pytest.mark.scenario("C56", "C57")
def test_an_unreachable_vault_is_reported_until_it_returns(vault, tmp_path, watching):
    watcher = watching(vault, settings=Watch(poll_seconds=0.05))
    vault.rename(tmp_path / "old")

    hints_until(watcher, lambda hints: hints.rescan and watcher.mode == "polling")
    assert (watcher.healthy, watcher.reason) == (False, "the vault's folder is not there")
    with pytest.raises(FileNotFoundError):
        os.stat(vault)

    (tmp_path / "old").rename(vault)
    hints_until(watcher, lambda hints: watcher.mode == "inotify")
    (vault / "USER.md").write_bytes(b"x")
    hints_until(watcher, lambda hints: "USER.md" in hints.paths)
    assert (watcher.healthy, watcher.reason) == (True, "")


@pytest.mark.scenario("C56")
def test_a_missing_or_changed_marker_requests_a_rescan_of_the_vault(vault, watching):
    Folder(vault).ensure_marker()
    watcher = watching(vault)

    (vault / ".vault-memory").unlink()

    assert hints_until(watcher, a_rescan)[-1].reason == "the vault's marker changed"


@pytest.mark.scenario("C58")
def test_a_dead_watching_thread_is_replaced(vault, watching, monkeypatch):
    from watchdog.observers.inotify_c import InotifyFD

    watcher = watching(vault)
    with monkeypatch.context() as patched:

        def fail(_self: InotifyFD, _buffer: bytes) -> None:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "watchdog stumbled")

        patched.setattr(
            InotifyFD, "_parse_event_buffer", staticmethod(lambda _buffer: fail(None, b""))
        )
        (vault / "USER.md").write_bytes(b"x")
        watcher._events.join(PATIENCE)

    found = hints_until(watcher, a_rescan)
    assert "the thread that watches ended" in found[-1].reason
    (vault / "USER.md").write_bytes(b"y")
    hints_until(watcher, lambda hints: "USER.md" in hints.closed)
    assert watcher.healthy


@pytest.mark.scenario("C58")
def test_a_name_that_is_not_utf8_causes_a_rescan_of_its_folder(vault, watching):
    watcher = watching(vault)
    with open(os.fsencode(vault) + b"/memory/\xff.md", "wb"):
        pass

    found = hints_until(watcher, lambda hints: bool(hints.subtrees))

    assert found[-1].subtrees == {"memory"}
    assert os.fsdecode(b"memory/\xff.md") in Folder(vault).listing("memory").unknown


@pytest.mark.scenario("C59")
def test_an_edit_between_watching_and_listing_is_hinted(vault):
    watcher = Watcher(vault)
    watcher.start()
    try:
        (vault / "memory/new.md").write_bytes(b"x")
        found = hints_until(watcher, lambda hints: "memory/new.md" in hints.paths)
        assert found[0].rescan
    finally:
        watcher.stop()


@pytest.mark.scenario("C60", "C61")
def test_an_edit_with_the_same_size_and_an_earlier_mtime_is_hinted(vault, watching):
    watcher = watching(vault)
    (vault / "memory/boat.md").write_bytes(b"Tern\n")
    hints_until(watcher, lambda hints: "memory/boat.md" in hints.paths)

    os.utime(vault / "memory/boat.md", ns=(0, 0))

    hints_until(watcher, lambda hints: "memory/boat.md" in hints.paths)


def compare(vault: Path, watcher: Watcher, before: dict) -> None:
    """What the daemon does on a sweep: list, compare, and tell what no event announced."""
    listing = Folder(vault).listing().entries
    for path, stat in listing.items():
        if before.get(path) != stat:
            watcher.note_missed(path)
    before.update(listing)


@pytest.mark.scenario("C62", "C68")
def test_changes_without_events_are_swept_up_and_the_third_one_starts_polling(
    vault, watching, monkeypatch
):
    monkeypatch.setattr("vault_memory.vault.watch.watcher._PATIENCE", 0.05)
    watcher = watching(vault, settings=Watch(sweep_seconds=0.2, poll_seconds=0.1))
    known = Folder(vault).listing().entries
    rearmed = []
    for step in range(3):
        with open(vault / "memory/boat.md", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[0:1] = str(step).encode()
            memory.flush()
        assert Folder(vault).listing().entries["memory/boat.md"] != known["memory/boat.md"]
        hints_until(watcher, lambda hints: hints.sweep)
        compare(vault, watcher, known)
        rearmed.append(hints_until(watcher, a_rescan)[-1].reason)

    assert rearmed == ["`memory/boat.md` changed without an event"] * 3
    assert (watcher.mode, watcher.healthy) == ("polling", False)
    assert watcher.reason == "3 times changes came without an event, last of `memory/boat.md`"
    assert [watcher.take(PATIENCE).rescan for _ in range(3)] == [True] * 3
    assert sorted(path.name for path in vault.iterdir()) == ["USER.md", "memory"]


def test_an_event_just_before_or_after_a_sweep_does_not_count_as_missed(
    vault, watching, monkeypatch
):
    monkeypatch.setattr("vault_memory.vault.watch.watcher._PATIENCE", 0.05)
    watcher = watching(vault, settings=Watch(sweep_seconds=0.2))
    hints_until(watcher, lambda hints: hints.sweep)

    watcher.note_missed("memory/boat.md")
    (vault / "memory/boat.md").write_bytes(b"x")
    found = hints_until(watcher, lambda hints: hints.sweep)
    (vault / "memory/boat.md").write_bytes(b"y")
    found += hints_until(watcher, lambda hints: bool(hints.closed))
    watcher.note_missed("memory/boat.md")
    found += hints_until(watcher, lambda hints: hints.sweep)

    assert not [hints for hints in found if a_rescan(hints)]
    assert (watcher.mode, watcher.healthy) == ("inotify", True)


def test_a_change_that_already_requested_a_rescan_does_not_count_as_missed(
    vault, watching, monkeypatch
):
    monkeypatch.setattr("vault_memory.vault.watch.watcher._PATIENCE", 0.05)
    watcher = watching(vault)

    watcher.note_missed("memory/boat.md")

    assert not watcher.take(0.8)


def test_waiting_to_watch_again_does_not_busy_loop(vault, watching):
    asked = []

    def now() -> float:
        asked.append(1)
        return time.monotonic()

    watcher = watching(vault, now=now)
    watcher._queue.lose("more happened at once")
    asked.clear()

    assert a_rescan(watcher.take(PATIENCE))
    assert len(asked) < 30


@pytest.mark.scenario("B51")
def test_after_a_suspend_the_entire_vault_is_listed_again(vault, watching):
    slept = [0.0]
    watcher = watching(vault, wall=lambda: time.time() + slept[0])
    assert not watcher.take(0)

    slept[0] = 3 * 86400
    assert watcher.take(0) == ChangeHints(
        rescan=True, reason="the computer slept, or its clock was set"
    )
    assert not watcher.take(0)
    slept[0] = 0
    assert watcher.take(0).rescan


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /mnt/nas rw - nfs4 server:/vault rw
31 22 0:41 / /mnt/sea\\040side rw - cifs //server/share rw
32 22 0:42 / /home/ann/ssh rw - fuse.sshfs ann@host:/ rw
33 22 0:43 / /mnt/nas/local rw - ext4 /dev/vdb rw
34 22 0:44 / /mnt/host rw - 9p host rw
35 22 0:45 / /covered rw - nfs server:/ rw
36 22 0:46 / /covered rw - xfs /dev/vdc rw
37 22 0:47 / /mnt/stick rw - vfat /dev/sdb rw
"""


@pytest.mark.scenario("C63")
@pytest.mark.parametrize(
    ("path", "kind", "heard"),
    [
        ("/home/ann/vault", "ext4", True),
        ("/mnt/nas/vault", "nfs4", False),
        ("/mnt/sea side/vault", "cifs", False),
        ("/home/ann/ssh", "fuse.sshfs", False),
        ("/mnt/nas/local/vault", "ext4", True),
        ("/mnt/host/x", "9p", False),
        ("/covered/x", "xfs", True),
        ("/mnt/nasty", "ext4", True),
        ("/mnt/stick/v", "vfat", True),
    ],
)
def test_network_mounts_are_recognised_by_their_type(tmp_path, path, kind, heard):
    (tmp_path / "mounts").write_text(MOUNTS)

    assert file_system(path, MOUNTS) == kind
    assert (watchable(path, mounts=str(tmp_path / "mounts")) is None) == heard


@pytest.mark.scenario("C63")
def test_a_network_mount_is_polled_from_the_start_and_changes_are_found(vault, tmp_path, watching):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"22 1 0:40 / {os.path.realpath(tmp_path)} rw - nfs4 server:/vault rw\n")
    watcher = watching(vault, settings=Watch(poll_seconds=0.05), system=OwnEvents(str(mounts)))

    assert (watcher.mode, watcher.healthy, watcher.folders) == ("polling", True, 0)
    assert watcher.reason == "it is on a file system (nfs4) that does not report all changes"
    (vault / "memory/new.md").write_bytes(b"x")
    found_until(vault, watcher, {"memory/new.md"})


def test_a_polling_watcher_lists_everything_before_it_passes_a_mark(vault, tmp_path, watching):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"22 1 0:40 / {os.path.realpath(tmp_path)} rw - nfs4 server:/vault rw\n")
    watcher = watching(vault, settings=Watch(poll_seconds=60), system=OwnEvents(str(mounts)))
    mark = watcher.mark()

    assert watcher.take(PATIENCE) == ChangeHints(
        rescan=True, reason="a caller waits for the index", marks=(mark,)
    )


def test_the_folder_of_this_test_run_can_be_watched(vault):
    assert watchable(vault) is None


def test_a_waiting_consumer_can_be_woken_and_a_stopped_watcher_restarts(vault, watching):
    watcher = watching(vault)
    taken = []
    taker = threading.Thread(target=lambda: taken.append(watcher.take(60)))
    taker.start()
    watcher.wake()
    taker.join(PATIENCE)
    assert taken == [ChangeHints()]

    watcher.stop()
    assert (watcher.mode, watcher.healthy, watcher.reason) == ("polling", False, "stopped")
    watcher.start()
    assert watcher.take(PATIENCE).rescan
    assert watcher.healthy


def test_stopping_closes_all_file_descriptors(vault):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        watcher = Watcher(vault)
        watcher.start()
        watcher.take(PATIENCE)
        watcher.stop()

    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.sampled
def test_a_vault_of_ten_thousand_folders_is_watched_without_a_missed_change(
    large_vault, watching, capsys
):
    folders = 10_000
    for number in range(folders):
        os.makedirs(large_vault / f"memory/{number % 100}/{number}")
    began, cpu = time.monotonic(), time.process_time()
    watcher = watching(large_vault)
    armed = time.monotonic() - began
    assert watcher.folders >= folders
    Folder(large_vault).listing()
    wanted = set()
    for number in range(0, folders, folders // 200):
        (large_vault / f"memory/{number % 100}/{number}/x.md").write_bytes(b"x")
        wanted.add(f"memory/{number % 100}/{number}/x.md")
    found: set[str] = set()
    hints_until(watcher, lambda hints: bool(found.update(hints.closed)) or found >= wanted)
    busy = time.process_time() - cpu

    idle_from, wall = time.process_time(), time.monotonic()
    assert not watcher.take(1.0)
    idle = (time.process_time() - idle_from) / (time.monotonic() - wall)

    with capsys.disabled():
        print(
            f"\n{watcher.folders} folders: armed in {armed:.2f} s, {busy:.2f} CPU s in all, idle {idle:.2%} CPU"
        )
    assert found == wanted
    assert idle < 0.05


@pytest.mark.scenario("C66")
@pytest.mark.skip(reason="needs macOS: FSEvents and a file system that folds case")
def test_a_case_only_rename_on_macos_is_detected_by_lstat(): ...


@pytest.mark.scenario("C67")
@pytest.mark.skip(reason="needs Windows: ReadDirectoryChangesW with an empty completion")
def test_an_empty_completion_on_windows_requests_a_rescan(): ...
