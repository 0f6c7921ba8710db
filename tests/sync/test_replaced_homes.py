"""Another home answers at the address of the vault's: nothing is deleted here before a person agrees, however few notes there are."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.remote.servers import real, s3_stores
from tests.remote.servers.s3_stores import S3Store
from tests.sync.devices import Clock, Device
from vault_memory.remote.contract import Remote
from vault_memory.remote.http_transport import Account
from vault_memory.remote.webdav import WebDav

OTHERS = ("other notes", "a note of the same name", "a note with the same text")


@dataclass
class Home:
    """A laptop that syncs with a home, and the way of other people to that home."""

    laptop: Device
    direct: Remote
    erase: Callable[[], None]

    def agree(self, count: int) -> None:
        for number in range(count):
            self.laptop.save(f"note{number}.md", f"- {number}\n")
        self.laptop.settle()
        self.laptop.clock.pass_by(60)

    def put(self, path: str, text: str) -> None:
        self.direct.put(path, text.encode(), expected=None)

    def delete(self, path: str) -> None:
        self.direct.delete(path, expected=self.direct.look(path).etag)

    def run_passes(self, **options: bool) -> str:
        """Four passes. Returns why the last one did nothing."""
        halted = ""
        for _ in range(4):
            self.laptop.clock.pass_by(61)
            halted = self.laptop.run_pass(**options).halted
        return halted

    def texts(self) -> dict[str, bytes]:
        return {
            entry.path: self.direct.get(entry.path, max_bytes=9999).raw
            for entry in self.direct.list(deep=True).entries
            if not entry.is_folder
        }


@pytest.fixture(params=["wsgidav", "apache-digest", *s3_stores.NAMES])
def home(
    request: pytest.FixtureRequest,
    base: Path,
    server_named: Callable[[str], real.Server],
    s3_store_named: Callable[[str], S3Store],
) -> Home:
    clock = Clock()
    if request.param in s3_stores.NAMES:
        store = s3_store_named(request.param)
        url = store.new_home()
        direct: Remote = store.open(url)
        laptop = Device(base, "laptop", store.open(url), clock)
        return Home(laptop, direct, lambda: _erase_keys(store, url))
    server = server_named(request.param)
    url = server.make_folder(base.name)
    account = Account(server.user, server.password)
    laptop = Device(base, "laptop", WebDav(url, account), clock)
    folder = server.root_dir / base.name
    return Home(laptop, WebDav(url, account), lambda: _erase_files(folder))


def _erase_keys(store: S3Store, url: str) -> None:
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    boto = store.boto()
    listed = boto.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")
    for item in listed["Contents"]:
        boto.delete_object(Bucket=bucket, Key=item["Key"])


def _erase_files(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _fill(home: Home, others: str) -> None:
    home.put("foreign.md", "- foreign\n")
    home.put("more.md", "- more\n")
    if others == "a note of the same name":
        home.put("note0.md", "- the zero of other people\n")
    if others == "a note with the same text":
        home.put("zero.md", "- 0\n")


@pytest.mark.sampled
@pytest.mark.scenario("E95")
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_home_replaced_by_another_deletes_nothing_here(
    home: Home, count: int, others: str
) -> None:
    home.agree(count)
    before = home.laptop.files()
    home.erase()
    _fill(home, others)
    foreign = home.texts()

    halted = home.run_passes()

    assert home.laptop.files() == before
    assert home.texts() == foreign
    assert "other files" in halted


@pytest.mark.sampled
@pytest.mark.scenario("E95")
def test_the_only_note_is_not_deleted_by_a_home_with_other_notes(home: Home) -> None:
    home.agree(1)
    before = home.laptop.files()
    home.erase()
    _fill(home, "other notes")

    assert "other files" in home.run_passes()
    assert home.laptop.files() == before


@pytest.mark.sampled
@pytest.mark.scenario("E95")
def test_a_person_who_replaced_all_notes_elsewhere_approves_that_once(home: Home) -> None:
    home.agree(3)
    for number in range(3):
        home.delete(f"note{number}.md")
    home.put("new.md", "- new\n")
    assert "other files" in home.run_passes()

    home.run_passes(approve_deletes=True)

    assert home.laptop.files() == {"new.md": b"- new\n"}
    assert home.run_passes() == ""


@pytest.mark.sampled
def test_everyday_changes_of_a_small_home_need_no_approval(home: Home) -> None:
    home.agree(3)
    home.delete("note0.md")
    assert home.run_passes() == ""
    # One note is renamed, and one is new.
    home.delete("note1.md")
    home.put("renamed.md", "- 1\n")
    home.put("new.md", "- new\n")
    assert home.run_passes() == ""
    expected = {"note2.md": b"- 2\n", "renamed.md": b"- 1\n", "new.md": b"- new\n"}
    assert home.laptop.files() == expected
    # All are renamed.
    for path in expected:
        home.delete(path)
        home.put(f"moved-{path}", expected[path].decode())
    if home.run_passes():
        # Without ids and with tags by file, nothing shows that it is the same home.
        assert home.laptop.files() == expected
        home.run_passes(approve_deletes=True)
    moved = {f"moved-{path}": raw for path, raw in expected.items()}
    assert home.laptop.files() == moved


@pytest.mark.sampled
def test_edits_and_a_deletion_at_once_need_no_approval(home: Home) -> None:
    home.agree(2)
    note = home.direct.look("note0.md")
    home.direct.put("note0.md", b"- nought\n", expected=note.etag)
    home.delete("note1.md")

    assert home.run_passes() == ""
    assert list(home.laptop.files()) == ["note0.md"]
    assert "- nought" in home.laptop.text("note0.md")
