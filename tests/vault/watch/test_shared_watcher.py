"""Many vaults behind one inotify instance: each gets its own hints, and no other's."""

import os
import random
import resource
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.effort import few
from vault_memory.config.sections import Watch
from vault_memory.vault.watch.change_queue import ChangeHints
from vault_memory.vault.watch.mounts import MountKinds

if sys.platform != "linux":
    pytest.skip("inotify is a part of Linux", allow_module_level=True)

from vault_memory.vault.watch.shared_watcher import SharedWatcher
from vault_memory.vault.watch.vault_watch import VaultWatch, WatchEnded
from vault_memory.vault.watch.watcher import root_identity

PATIENCE = 120.0
SETTINGS = Watch(poll_seconds=30.0, sweep_seconds=300.0)


class Owner:
    """Counts the calls of a watch."""

    def __init__(self) -> None:
        self.calls = 0
        self.called = threading.Event()

    def tell(self) -> None:
        self.calls += 1
        self.called.set()


class Vaults:
    """Vaults below a folder with one shared watcher."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shared = SharedWatcher()
        self.owners: dict[str, Owner] = {}

    def add(self, name: str, *, is_open: bool) -> VaultWatch:
        root = self.folder / name
        (root / "Users").mkdir(parents=True, exist_ok=True)
        self.owners[name] = Owner()
        watch = self.shared.add(str(root), SETTINGS, self.owners[name].tell)
        if is_open:
            watch.start()
        return watch

    def save(self, name: str, note: str = "USER.md") -> None:
        (self.folder / name / note).write_text("saved\n")


@pytest.fixture
def vaults(tmp_path: Path) -> Iterator[Vaults]:
    vaults = Vaults(tmp_path)
    yield vaults
    vaults.shared.stop()


def hints_until(watch: VaultWatch, wanted: Callable[[ChangeHints], bool]) -> list[ChangeHints]:
    """All hints up to those that were wanted."""
    end = time.monotonic() + PATIENCE
    hints = []
    while time.monotonic() < end:
        hints.append(watch.take(end - time.monotonic()))
        if wanted(hints[-1]):
            return hints
    raise AssertionError(f"only these hints came: {hints}")


def paths_until_marked(watch: VaultWatch) -> set[str]:
    """The paths of all hints before a mark that is placed now."""
    mark = watch.mark()
    hints = hints_until(watch, lambda hints: mark in hints.marks)
    return {path for hint in hints for path in hint.paths}


def test_each_save_reaches_its_own_vault_and_no_other(vaults: Vaults) -> None:
    names = [f"v{number}" for number in range(200)]
    watches = {name: vaults.add(name, is_open=True) for name in names}
    choice = random.Random(7).sample(names, 20)

    for name in choice:
        vaults.save(name, "Users/ann.md")

    for name, watch in watches.items():
        expected = {"Users/ann.md"} if name in choice else set()
        assert paths_until_marked(watch) == expected, name


def test_a_save_before_a_mark_is_among_the_hints_before_it(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=True)
    vaults.add("bo", is_open=True)

    for number in range(few(1000)):
        vaults.save("bo", f"n{number}.md")
        vaults.save("ann", f"n{number}.md")
        assert f"n{number}.md" in paths_until_marked(watch)


def test_a_closed_vault_calls_its_owner_once_and_asks_for_a_rescan_when_opened(
    vaults: Vaults,
) -> None:
    watch = vaults.add("ann", is_open=False)
    owner = vaults.owners["ann"]

    for number in range(50):
        vaults.save("ann", f"n{number}.md")

    assert owner.called.wait(PATIENCE)
    time.sleep(0.2)
    assert owner.calls == 1
    assert watch.take(0) == ChangeHints()
    watch.start()
    assert watch.take(PATIENCE).rescan


def test_a_save_while_a_vault_closes_calls_its_owner(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=True)
    owner = vaults.owners["ann"]
    for number in range(few(400)):
        owner.called.clear()
        saving = threading.Thread(target=vaults.save, args=("ann", f"n{number}.md"))
        saving.start()
        time.sleep(random.random() / 1000)
        watch.stop()
        saving.join()
        # The save is taken with the first rescan, or it called the owner of the closed vault.
        assert owner.called.wait(PATIENCE)
        watch.start()
        assert watch.take(PATIENCE).rescan


def test_an_owner_that_is_called_by_a_closing_vault_may_wait_for_other_threads(
    vaults: Vaults,
) -> None:
    watch = vaults.add("ann", is_open=True)
    vaults.save("ann")
    assert vaults.owners["ann"].called.wait(PATIENCE)
    waited = []

    def wait_for_a_question() -> None:
        question = threading.Thread(target=watch.mark, daemon=True)
        question.start()
        question.join(PATIENCE)
        waited.append(question.is_alive())

    watch._tell_change = wait_for_a_question
    watch.stop()

    assert waited[0] is False


def test_a_mark_of_a_closed_vault_comes_after_it_is_opened(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=False)

    mark = watch.mark()
    assert vaults.owners["ann"].called.is_set()
    watch.start()

    assert any(mark in hints.marks for hints in hints_until(watch, lambda h: mark in h.marks))


def test_a_vault_that_goes_troubles_no_other(vaults: Vaults) -> None:
    gone = vaults.add("gone", is_open=True)
    other = vaults.add("other", is_open=True)

    shutil.rmtree(vaults.folder / "gone")
    hints_until(gone, lambda hints: hints.rescan)

    assert gone.mode == "polling"
    assert not gone.healthy
    vaults.save("other")
    assert paths_until_marked(other) == {"USER.md"}


def test_a_vault_that_was_replaced_is_watched_at_its_place(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=True)
    (vaults.folder / "ann").rename(vaults.folder / "old")
    (vaults.folder / "ann").mkdir()

    hints_until(watch, lambda hints: hints.rescan and watch.mode == "inotify")
    vaults.save("old")
    vaults.save("ann", "new.md")

    assert paths_until_marked(watch) == {"new.md"}


def test_a_folder_moved_between_vaults_reports_to_the_new_one(vaults: Vaults) -> None:
    before = vaults.add("ann", is_open=True)
    after = vaults.add("bo", is_open=True)
    (vaults.folder / "ann" / "trip").mkdir()
    hints_until(before, lambda hints: "trip" in hints.subtrees)

    (vaults.folder / "ann" / "trip").rename(vaults.folder / "bo" / "trip")
    hints_until(after, lambda hints: "trip" in hints.subtrees)
    vaults.save("bo", "trip/day.md")

    assert "trip/day.md" in paths_until_marked(after)
    assert "trip/day.md" not in paths_until_marked(before)


def test_lost_events_make_each_vault_look_again(vaults: Vaults) -> None:
    opened = vaults.add("open", is_open=True)
    closed = vaults.add("closed", is_open=False)
    reader = vaults.shared.reader()

    reader.report_loss("more happened at once than the system could report")

    assert hints_until(opened, lambda hints: hints.rescan)
    assert vaults.owners["closed"].called.wait(PATIENCE)
    assert closed.is_changed


def test_a_thread_that_ended_is_replaced(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=True)
    reader = vaults.shared.reader()
    reader.stop()
    reader.join()

    reader.report_loss("the thread ended")
    hints_until(watch, lambda hints: hints.rescan)
    vaults.save("ann")

    assert "USER.md" in paths_until_marked(watch)
    assert vaults.shared.reader() is not reader


def test_a_vault_without_events_is_polled_while_it_is_open(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / {tmp_path / 'net'} rw - nfs4 server:/ rw\n")
    vaults = Vaults(tmp_path)
    vaults.shared = SharedWatcher(mounts=str(mounts))
    try:
        watch = vaults.add("net/ann", is_open=False)

        assert watch.mode == "polling"
        assert "nfs4" in watch.reason
        assert watch.wait() == SETTINGS.poll_seconds
    finally:
        vaults.shared.stop()


def test_a_removed_vault_calls_nobody(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=True)
    vaults.shared.remove(watch)
    before = vaults.owners["ann"].calls

    vaults.save("ann")
    time.sleep(0.2)

    assert vaults.owners["ann"].calls == before
    with pytest.raises(WatchEnded, match="not watched any more"):
        watch.start()


def test_a_thousand_idle_vaults_cost_next_to_nothing(vaults: Vaults) -> None:
    memory = _resident_kilobytes()
    instances = _inotify_instances()
    for number in range(1000):
        vaults.add(f"v{number}", is_open=False)

    # Each vault has a folder `Users` beside its own.
    assert _inotify_instances() == instances + 1
    # About 5 kB a vault are measured; what Python keeps for later varies.
    assert _resident_kilobytes() - memory < 20_000
    started = resource.getrusage(resource.RUSAGE_SELF)
    time.sleep(1.0)
    ended = resource.getrusage(resource.RUSAGE_SELF)
    cpu = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    assert cpu < 0.05


def _resident_kilobytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * (resource.getpagesize() // 1024)


def _inotify_instances() -> int:
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link) == "anon_inode:inotify" for link in links if os.path.lexists(link))


@pytest.mark.sampled
@pytest.mark.scenario("C52")
def test_a_mark_that_a_full_queue_dropped_comes_with_the_rescan(vaults: Vaults) -> None:
    busy = vaults.add("busy", is_open=True)
    quiet = vaults.add("quiet", is_open=True)
    closed = vaults.add("closed", is_open=False)
    # The thread cannot put hints away, and so reads no further.
    with busy._queue._ready:
        for number in range(6000):
            vaults.save("busy", f"{number}.md")
        mark = quiet.mark()
        assert not quiet.take(0)

    hints = hints_until(quiet, lambda hints: mark in hints.marks)

    assert hints[-1].rescan
    assert "more happened at once" in hints[-1].reason
    hints_until(busy, lambda hints: hints.rescan)
    vaults.save("quiet")
    assert "USER.md" in paths_until_marked(quiet)
    assert closed.is_changed


@pytest.mark.scenario("C58")
def test_trouble_with_an_event_of_one_vault_is_that_vaults_alone(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = vaults.add("ann", is_open=True)
    bo = vaults.add("bo", is_open=True)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("stumbled")

    with monkeypatch.context() as patched:
        patched.setattr(ann._queue, "dirty", fail)
        vaults.save("ann")
        vaults.save("bo")
        assert paths_until_marked(bo) == {"USER.md"}
        hints = hints_until(ann, lambda hints: hints.rescan)

    assert "an event failed (RuntimeError: stumbled)" in hints[-1].reason
    vaults.save("ann")
    assert "USER.md" in paths_until_marked(ann)
    assert not bo.take(0)


def test_an_owner_that_takes_only_when_called_gets_every_hint_and_mark(vaults: Vaults) -> None:
    watch, owner = vaults.add("ann", is_open=True), vaults.owners["ann"]
    chance = random.Random(4)
    for number in range(few(100)):
        owner.called.clear()
        wanted = {f"{number}-{count}.md" for count in range(chance.randrange(1, 4))}
        for note in wanted:
            vaults.save("ann", note)
        mark = watch.mark()
        paths: set[str] = set()
        marks: set[object] = set()
        while mark not in marks:
            assert owner.called.wait(PATIENCE)
            owner.called.clear()
            hints = watch.take(0)
            paths |= hints.paths
            marks |= set(hints.marks)
        assert wanted <= paths

    assert watch.wait() > 1
    watch.wake()
    assert owner.called.is_set()
    assert not watch.take(0)
    # A wake-up that was answered must not cause another turn.
    assert watch.wait() > 1


def test_a_closed_vault_hears_a_save_in_a_folder_made_while_it_was_open(vaults: Vaults) -> None:
    watch, owner = vaults.add("ann", is_open=True), vaults.owners["ann"]
    (vaults.folder / "ann/trip/log").mkdir(parents=True)
    paths_until_marked(watch)
    watch.stop()
    owner.called.clear()

    vaults.save("ann", "trip/log/day.md")

    assert owner.called.wait(PATIENCE)


def test_an_unchanged_vault_keeps_its_watches_when_it_is_opened(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=False)

    for _ in range(3):
        armed = watches_of_process()
        watch.start()
        assert watches_of_process() == armed
        assert not watch.take(0)
        watch.stop()
    vaults.save("ann")
    assert vaults.owners["ann"].called.wait(PATIENCE)
    watch.start()
    assert watch.take(0).rescan


def watches_of_process() -> list[str]:
    """The watches of all inotify instances, by their numbers: new ones have other numbers."""
    lines = []
    for entry in Path("/proc/self/fdinfo").iterdir():
        try:
            lines += entry.read_text().splitlines()
        except OSError:
            continue
    return sorted(line for line in lines if line.startswith("inotify wd:"))


@pytest.mark.scenario("C56")
def test_a_vault_that_was_replaced_while_closed_is_watched_when_opened(vaults: Vaults) -> None:
    watch = vaults.add("ann", is_open=False)
    before = root_identity(watch.root)
    # As after a mount, of which no event reports.
    watch.is_changed = True
    (vaults.folder / "ann").rename(vaults.folder / "old")
    (vaults.folder / "ann").mkdir()
    assert root_identity(watch.root) != before
    vaults.owners["ann"].called.clear()
    watch.is_changed = False

    watch.start()
    assert watch.take(0).rescan
    vaults.save("ann", "new.md")
    assert "new.md" in paths_until_marked(watch)


def test_a_vault_is_not_unchanged_while_its_event_is_being_noted(
    vaults: Vaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = vaults.add("ann", is_open=False)
    note_call = VaultWatch._note_call
    is_noting = threading.Event()

    def note_slowly(watch: VaultWatch) -> bool:
        is_noting.set()
        time.sleep(0.2)
        return note_call(watch)

    monkeypatch.setattr(VaultWatch, "_note_call", note_slowly)
    event = threading.Thread(target=lambda: watch.dirty("n.md", closed=True))
    event.start()
    is_noting.wait(PATIENCE)

    watch.start()
    assert watch.take(0).rescan
    event.join()


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("seed", range(few(20)))
def test_an_owner_that_reads_an_unchanged_vault_only_by_hints_misses_no_save(
    vaults: Vaults, seed: int
) -> None:
    """The owner opens, takes and closes at any moment, and scans only when it is told to."""
    draw = random.Random(seed)
    watch = vaults.add("ann", is_open=False)
    root = Path(watch.root)
    seen: dict[str, str] = {}
    saves = few(200)

    def save_notes() -> None:
        # A rename is one event: of a save in several steps, another event would be seen.
        new = root.parent / "new.md"
        for number in range(saves):
            new.write_text("saved\n")
            new.rename(root / f"n{number}.md")
            time.sleep(random.random() / 1000)

    def read(paths: Iterable[str]) -> None:
        seen.update({path: (root / path).read_text() for path in paths})

    def scan() -> None:
        read(path.name for path in root.glob("*.md"))

    saving = threading.Thread(target=save_notes)
    scan()
    saving.start()
    while saving.is_alive():
        watch.start()
        for _ in range(draw.randrange(3)):
            hints = watch.take(draw.random() / 1000)
            read(hints.paths)
            if hints.rescan:
                scan()
        watch.stop()
    saving.join()
    watch.start()
    mark = watch.mark()
    for hints in hints_until(watch, lambda hints: mark in hints.marks):
        read(hints.paths)
        if hints.rescan:
            scan()

    assert seen == {path.name: path.read_text() for path in root.glob("*.md")}


@pytest.mark.parametrize("seed", range(few(40)))
def test_every_folder_is_watched_after_any_openings_and_closings(vaults: Vaults, seed: int) -> None:
    draw = random.Random(seed)
    watch = vaults.add("ann", is_open=False)
    root = Path(watch.root)
    folders = [root, root / "Users"]
    for number in range(30):
        match draw.choice(("open", "close", "take", "folder", "rename", "save")):
            case "open" if not watch.is_open:
                watch.start()
            case "close" if watch.is_open:
                watch.stop()
            case "take":
                watch.take(0)
            case "folder":
                folders.append(draw.choice(folders) / f"f{number}")
                folders[-1].mkdir()
            case "rename" if len(folders) > 2:
                moved = folders.pop()
                folders.append(root / f"r{number}")
                moved.rename(folders[-1])
            case "save":
                (draw.choice(folders) / f"n{number}.md").write_text("saved\n")
            case _:
                pass
    if not watch.is_open:
        watch.start()
    paths_until_marked(watch)

    for folder in folders:
        (folder / "last.md").write_text("saved\n")

    mark = watch.mark()
    hints = hints_until(watch, lambda hints: mark in hints.marks)
    paths = {path for hint in hints for path in hint.paths}
    above = {f"{path}/" for hint in hints for path in hint.subtrees}
    for folder in folders:
        note = str((folder / "last.md").relative_to(root))
        assert note in paths or note.startswith(tuple(above)), note


LIMITED = """
    import sys, time
    from pathlib import Path
    from vault_memory.config.sections import Watch
    from vault_memory.vault.watch.shared_watcher import SharedWatcher

    limit = Path("/proc/sys/user/max_inotify_watches")
    before = limit.read_text()
    limit.write_text("5")
    calls = []
    shared = SharedWatcher()
    watches = [
        shared.add(root, Watch(0.05, 0.1), lambda root=root: calls.append(root))
        for root in sys.argv[1:]
    ]
    for watch in watches:
        print(watch.mode, watch.healthy, watch.reason)
    Path(watches[0].root, "USER.md").write_bytes(b"x")
    while not calls:
        time.sleep(0.01)
    print(calls == [watches[0].root], watches[0].wait(), watches[2].wait())
    watches[2].start()
    print([watches[2].take(5).rescan for _ in range(3)], watches[2].mode)
    limit.write_text(before)
    while watches[2].mode == "polling":
        watches[2].take(5)
    watches[2].stop()
    print(watches[2].mode, watches[2].healthy, watches[2].folders)
    shared.stop()
"""


@pytest.mark.scenario("C53")
def test_without_free_watches_only_the_vaults_concerned_are_polled(
    tmp_path: Path, project: Path
) -> None:
    roots = [tmp_path / name for name in ("ann", "bo", "alice")]
    for root in roots:
        (root / "Users").mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", textwrap.dedent(LIMITED), *roots],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(project)},
        check=False,
        timeout=60,
    )
    if "unshare" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("this system does not let a test have limits of its own")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "inotify True ",
        "inotify True ",
        "polling False the system's limit of inotify watches is reached"
        " (fs.inotify.max_user_watches)",
        "True inf 0.05",
        "[True, True, True] polling",
        "inotify True 2",
    ]


def test_stopping_closes_all_descriptors_and_the_thread(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        vaults = Vaults(tmp_path)
        vaults.add("ann", is_open=True)
        reader = vaults.shared.reader()
        reader.handle_event = None  # type: ignore[assignment,method-assign]
        vaults.save("ann")
        reader.join(PATIENCE)
        assert vaults.shared.reader() is not reader
        vaults.shared.stop()

    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


@pytest.mark.scenario("C63")
def test_a_folder_that_becomes_a_network_mount_is_noticed_after_seconds(tmp_path: Path) -> None:
    mounts, moment = tmp_path / "mountinfo", [0.0]
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - ext4 /dev/vda rw\n")
    kinds = MountKinds(mounts=str(mounts), now=lambda: moment[0])
    assert kinds.watchable(str(tmp_path)) is None

    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - nfs4 server:/ rw\n")
    # Thousands of vaults read the table once.
    moment[0] = 9.0
    assert kinds.watchable(str(tmp_path)) is None
    moment[0] = 11.0
    assert "nfs4" in (kinds.watchable(str(tmp_path)) or "")
    assert kinds.watchable(str(tmp_path / "absent")) is None
