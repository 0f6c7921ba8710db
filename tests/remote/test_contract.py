"""What every remote does, whatever stands behind it: one in memory, the fake Nextcloud, and each real server.

Servers that ignore preconditions pass too, since the remote then looks before it writes; its traits tell of it.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

from tests.every import every
from tests.remote import ram_remote
from tests.remote.ram_remote import RamRemote, RamServer
from tests.remote.servers import real, s3_stores
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.nextcloud import Clock, FakeNextcloud
from vault_memory.addons.s3.s3_remote import S3
from vault_memory.remote.contract import Capabilities, FileVersion, Remote
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remote_errors import (
    FolderNotEmpty,
    NotUnderstood,
    OutcomeUnknown,
    ParentMissing,
    Refused,
    RemoteChanged,
    RemoteMissing,
    RootMissing,
)
from vault_memory.remote.webdav import WebDav

CARELESS = ("nginx", "rclone")
NAMES = (
    *(
        "a.md",
        "Notiz ü.md",
        "日本語.md",
        "🙂.md",
        "a + b%20#.md",
        "x?y&z=1;.md",
        'it\'s "so".md',
        "[{~^`|}].md",
    ),
    *("end. ", " start", "CON", "a:b<c>*.md", "100%.md", "%41.md", "n" * 240 + ".md"),
)
_numbers = count(1)
_traits: dict[str, Capabilities] = {}

Make = Callable[[str], Remote]


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """An empty remote by the name of what stands behind it."""
    with contextlib.ExitStack() as opened:

        def named(kind: str) -> Remote:
            remote = _made(kind, request)
            opened.callback(remote.close)
            return remote

        yield named


def _made(kind: str, request: pytest.FixtureRequest) -> Remote:
    if kind.startswith("ram"):
        return RamRemote(
            RamServer(ram_remote.NEXTCLOUD if kind == "ram-nextcloud" else ram_remote.PLAIN)
        )
    if kind == "nextcloud":
        fake = FakeNextcloud(clock=Clock())
        url = f"http://cloud.example{fake.dav_path}"
        account = Account(fake.user, fake.app_password)
        return Nextcloud(url, account, adapter=DirectAdapter(fake), sleep=fake.clock.pass_)  # type: ignore[attr-defined]
    if kind.startswith("s3-"):
        name = kind.removesuffix("-versions")
        store: s3_stores.S3Store = request.getfixturevalue("s3_store_named")(name)
        bucket = store.open(store.new_home(versions=kind != name))
        if kind != name:
            bucket.traits = replace(bucket.traits, versions=True)
        return bucket
    server: real.Server = request.getfixturevalue("server_named")(kind)
    remote = WebDav(
        server.make_folder(f"contract{next(_numbers)}"), Account(server.user, server.password)
    )
    if kind not in _traits:
        _traits[kind] = remote.probe()
    remote.traits = _traits[kind]
    return remote


S3_KINDS = tuple(f"{name}{ending}" for name in s3_stores.NAMES for ending in ("", "-versions"))
KINDS = ("ram", "ram-nextcloud", "nextcloud", *real.HONEST, *real.CARELESS, *S3_KINDS)


@pytest.fixture(params=KINDS)
def remote(request: pytest.FixtureRequest, make: Make) -> Remote:
    return make(request.param)


def tag(remote: Remote, path: str) -> str:
    return remote.look(path).etag


@pytest.mark.sampled
def test_an_empty_folder_has_an_empty_listing_with_its_own_entry(remote: Remote) -> None:
    seen = remote.list()

    assert seen.folder.path == ""
    assert seen.folder.is_folder
    assert (seen.entries, dict(seen.unknown), seen.dropped) == ((), {}, 0)


def test_an_uploaded_note_is_downloaded_byte_for_byte(remote: Remote) -> None:
    raw = b"\xef\xbb\xbf# \xff\x00\r\n" + bytes(range(256))

    remote.put("note.md", raw, expected=None)

    fetched = remote.get("note.md", max_bytes=len(raw))
    assert fetched.raw == raw
    assert fetched.etag == tag(remote, "note.md")
    assert remote.look("note.md").size == len(raw)


@pytest.mark.sampled
def test_an_empty_note_can_be_stored(remote: Remote) -> None:
    remote.put("empty.md", b"", expected=None)

    assert remote.get("empty.md", max_bytes=10).raw == b""
    assert [(entry.path, entry.size) for entry in remote.list().entries] == [("empty.md", 0)]


@pytest.mark.sampled
def test_the_tag_returned_by_a_put_equals_the_listed_one(remote: Remote) -> None:
    stored = remote.put("note.md", b"one", expected=None)

    if remote.traits.etag_in_put:
        assert stored.etag == tag(remote, "note.md")
    else:
        assert stored.etag == ""


@pytest.mark.sampled
def test_creating_an_existing_note_changes_nothing(remote: Remote) -> None:
    remote.put("note.md", b"first", expected=None)

    with pytest.raises(RemoteChanged):
        remote.put("note.md", b"second", expected=None)

    assert remote.get("note.md", max_bytes=99).raw == b"first"


@pytest.mark.sampled
def test_overwriting_with_the_current_tag_succeeds(remote: Remote) -> None:
    remote.put("note.md", b"first", expected=None)
    remote.put("note.md", b"second, longer", expected=tag(remote, "note.md"))

    assert remote.get("note.md", max_bytes=99).raw == b"second, longer"


@pytest.mark.sampled
def test_overwriting_with_an_outdated_tag_changes_nothing(remote: Remote) -> None:
    remote.put("note.md", b"first", expected=None)
    old = tag(remote, "note.md")
    remote.put("note.md", b"by somebody else", expected=old)

    with pytest.raises(RemoteChanged):
        remote.put("note.md", b"mine", expected=old)

    assert remote.get("note.md", max_bytes=99).raw == b"by somebody else"


@pytest.mark.sampled
def test_overwriting_a_deleted_note_does_not_restore_it(
    remote: Remote, request: pytest.FixtureRequest
) -> None:
    remote.put("note.md", b"first", expected=None)
    old = tag(remote, "note.md")
    remote.delete("note.md", expected=old)

    if (
        "wsgidav" in request.node.name
    ):  # it heeds tags only of what is there: an edit beats a delete, no word is lost
        return
    with pytest.raises((RemoteChanged, RemoteMissing, ParentMissing)):
        remote.put("note.md", b"mine", expected=old)

    assert remote.list().entries == ()


@pytest.mark.sampled
def test_a_long_note_is_overwritten_like_a_short_one(remote: Remote) -> None:
    remote.put("long.md", b"a" * 60_000, expected=None)
    old = tag(remote, "long.md")
    remote.put("long.md", b"b" * 70_000, expected=old)

    with pytest.raises(RemoteChanged):
        remote.put("long.md", b"c" * 80_000, expected=old)

    assert remote.get("long.md", max_bytes=99_999).raw == b"b" * 70_000
    assert [entry.path for entry in remote.list(deep=True).entries] == ["long.md"]


@pytest.mark.sampled
def test_deleting_requires_the_current_tag(remote: Remote) -> None:
    remote.put("note.md", b"first", expected=None)
    old = tag(remote, "note.md")
    remote.put("note.md", b"second, longer", expected=old)

    with pytest.raises(RemoteChanged):
        remote.delete("note.md", expected=old)
    assert remote.get("note.md", max_bytes=99).raw == b"second, longer"

    remote.delete("note.md", expected=tag(remote, "note.md"))
    assert remote.list().entries == ()


@pytest.mark.sampled
def test_a_missing_note_is_reported_as_missing(remote: Remote) -> None:
    with pytest.raises(RemoteMissing):
        remote.look("gone.md")
    with pytest.raises(RemoteMissing):
        remote.get("gone.md", max_bytes=99)
    with pytest.raises(RemoteMissing):
        remote.list("gone")
    with pytest.raises((RemoteMissing, RemoteChanged)):
        remote.delete("gone.md", expected='"a"')
    with pytest.raises((RemoteMissing, RemoteChanged)):
        remote.move("gone.md", "there.md", expected='"a"')


@pytest.mark.sampled
def test_a_note_can_be_renamed_and_keeps_its_bytes(remote: Remote) -> None:
    remote.put("old.md", b"text", expected=None)
    before = remote.look("old.md")

    remote.move("old.md", "new.md", expected=before.etag)

    after = remote.look("new.md")
    assert [entry.path for entry in remote.list().entries] == ["new.md"]
    assert remote.get("new.md", max_bytes=99).raw == b"text"
    assert after.fileid == before.fileid


@pytest.mark.sampled
def test_a_rename_never_overwrites_another_note(remote: Remote) -> None:
    remote.put("old.md", b"mine", expected=None)
    remote.put("new.md", b"theirs", expected=None)

    with pytest.raises(RemoteChanged):
        remote.move("old.md", "new.md", expected=tag(remote, "old.md"))

    assert remote.get("new.md", max_bytes=99).raw == b"theirs"
    assert remote.get("old.md", max_bytes=99).raw == b"mine"


@pytest.mark.sampled
def test_a_rename_requires_the_current_tag(remote: Remote) -> None:
    remote.put("old.md", b"first", expected=None)
    old = tag(remote, "old.md")
    remote.put("old.md", b"second, longer", expected=old)

    with pytest.raises(RemoteChanged):
        remote.move("old.md", "new.md", expected=old)

    assert [entry.path for entry in remote.list().entries] == ["old.md"]


@pytest.mark.sampled
def test_folders_are_created_once_and_listed_level_by_level(remote: Remote) -> None:
    remote.mkcol("a")
    remote.mkcol("a/b")
    remote.put("a/one.md", b"1", expected=None)
    remote.put("a/b/two.md", b"2", expected=None)

    assert [(entry.path, entry.is_folder) for entry in remote.list().entries] == [("a", True)]
    assert [(entry.path, entry.is_folder) for entry in remote.list("a").entries] == [
        ("a/b", True),
        ("a/one.md", False),
    ]
    assert remote.look("a").is_folder


@pytest.mark.sampled
def test_a_deep_listing_equals_the_listings_of_all_levels(remote: Remote) -> None:
    for folder in ("a", "a/b", "c", "empty"):
        remote.mkcol(folder)
    for path in ("top.md", "a/one.md", "a/b/two.md", "c/three.md"):
        remote.put(path, path.encode(), expected=None)

    seen = remote.list(deep=True)

    assert {entry.path for entry in seen.entries} == {
        "a",
        "a/b",
        "c",
        "empty",
        "top.md",
        "a/one.md",
        "a/b/two.md",
        "c/three.md",
    }
    assert {entry.path for entry in remote.list("a", deep=True).entries} == {
        "a/b",
        "a/one.md",
        "a/b/two.md",
    }
    assert not seen.unknown


def test_a_deep_listing_of_only_empty_folders_is_complete(remote: Remote) -> None:
    remote.mkcol("a")
    remote.mkcol("b")

    assert [entry.path for entry in remote.list(deep=True).entries] == ["a", "b"]


@pytest.mark.sampled
def test_a_folder_is_created_only_where_nothing_exists(
    remote: Remote, request: pytest.FixtureRequest
) -> None:
    remote.mkcol("a")
    remote.put("note.md", b"x", expected=None)

    if "rclone" not in request.node.name:  # it says 201 to a folder that is there
        with pytest.raises(RemoteChanged):
            remote.mkcol("a")
        with pytest.raises((RemoteChanged, OutcomeUnknown, ParentMissing, Refused)):
            remote.mkcol("note.md")
    assert remote.get("note.md", max_bytes=9).raw == b"x"


def test_nothing_is_written_into_a_missing_folder(remote: Remote) -> None:
    if not remote.traits.parents:
        return
    with pytest.raises((ParentMissing, OutcomeUnknown)):  # nginx answers 500
        remote.put("no/note.md", b"x", expected=None)
    with pytest.raises(ParentMissing):
        remote.mkcol("no/folder")

    assert remote.list().entries == ()


def test_a_note_brings_its_folder_along_where_the_traits_say_so(remote: Remote) -> None:
    if remote.traits.parents:
        return
    remote.put("no/deeper/note.md", b"x", expected=None)

    assert [entry.path for entry in remote.list(deep=True).entries] == [
        "no",
        "no/deeper",
        "no/deeper/note.md",
    ]
    assert remote.look("no/deeper").is_folder


@pytest.mark.sampled
def test_a_folder_is_deleted_only_when_it_is_empty(
    remote: Remote, request: pytest.FixtureRequest
) -> None:
    remote.mkcol("a")
    remote.put("a/note.md", b"x", expected=None)

    with pytest.raises(FolderNotEmpty):
        remote.rmcol("a")
    assert remote.get("a/note.md", max_bytes=9).raw == b"x"

    remote.delete("a/note.md", expected=tag(remote, "a/note.md"))
    remote.rmcol("a")
    # With a delimiter, moto goes on listing the prefix of keys that a bucket with versions has deleted.
    deep = "s3-moto-versions" in request.node.name
    assert remote.list(deep=deep).entries == ()


@pytest.mark.sampled
def test_a_folder_moves_with_its_contents(remote: Remote) -> None:
    remote.mkcol("a")
    remote.mkcol("a/b")
    remote.put("a/b/note.md", b"x", expected=None)

    remote.move("a", "z", expected=None)

    assert [entry.path for entry in remote.list(deep=True).entries] == ["z", "z/b", "z/b/note.md"]


@pytest.mark.sampled
def test_a_folder_never_moves_over_another(remote: Remote) -> None:
    remote.mkcol("a")
    remote.mkcol("z")
    remote.put("z/note.md", b"x", expected=None)

    with pytest.raises((RemoteChanged, OutcomeUnknown)):  # lighttpd answers for each thing in it
        remote.move("a", "z", expected=None)

    assert [entry.path for entry in remote.list(deep=True).entries] == ["a", "z", "z/note.md"]


@pytest.mark.sampled
def test_names_are_listed_as_they_were_given(remote: Remote) -> None:
    for name in NAMES:
        remote.put(name, name.encode(), expected=None)
    remote.mkcol("in ü +%20")
    remote.put("in ü +%20/ü +%20", b"deeper", expected=None)

    seen = remote.list(deep=True)
    assert {entry.path for entry in seen.entries} == {*NAMES, "in ü +%20", "in ü +%20/ü +%20"}
    assert not seen.unknown
    assert all(remote.get(name, max_bytes=999).raw == name.encode() for name in NAMES)


@pytest.mark.parametrize(
    "path",
    ["../up.md", "a/../b.md", "/etc/passwd", "a//b.md", "a\\b.md", "x\0.md", "./a.md", "%2e%2e"],
)
@pytest.mark.parametrize("kind", ["nextcloud", "wsgidav"])
def test_a_path_outside_the_root_is_refused_without_a_request(
    path: str, kind: str, make: Make
) -> None:
    remote = make(kind)
    before = remote.traffic.requests

    with pytest.raises(Refused):
        remote.put(path, b"x", expected=None)

    assert remote.traffic.requests == before


def test_a_file_above_the_size_limit_is_not_downloaded(remote: Remote) -> None:
    remote.put("long.md", b"x" * 5000, expected=None)

    with pytest.raises(NotUnderstood):
        remote.get("long.md", max_bytes=4999)


def test_a_file_is_not_listed_as_a_folder(remote: Remote) -> None:
    remote.put("note.md", b"x", expected=None)

    with pytest.raises((NotUnderstood, RemoteMissing, Refused)):
        remote.list("note.md")


def test_every_request_is_counted(remote: Remote) -> None:
    before = remote.traffic.requests

    remote.put("note.md", b"12345", expected=None)
    remote.list()

    assert remote.traffic.requests >= before + 2
    assert remote.traffic.sent >= 5


def test_the_identity_of_a_remote_is_stable(remote: Remote) -> None:
    first = remote.identity()
    remote.put("note.md", b"x", expected=None)

    assert remote.identity() == first
    assert bool(first.root_id) == remote.traits.fileids


@pytest.mark.sampled
def test_tags_of_parent_folders_change_only_where_the_traits_say_so(remote: Remote) -> None:
    remote.mkcol("a")
    remote.mkcol("a/b")
    before = remote.look("").etag

    remote.put("a/b/note.md", b"x", expected=None)

    assert (remote.look("").etag != before) == remote.traits.recursive_etags


@pytest.mark.sampled
def test_a_replaced_version_can_be_recovered_where_the_traits_say_so(remote: Remote) -> None:
    remote.put("note.md", b"one", expected=None)
    if isinstance(remote, Nextcloud):
        remote._sleep(3)  # of the fake one's clock
    remote.put("note.md", b"second", expected=tag(remote, "note.md"))

    found = remote.versions("note.md")
    texts: list[bytes] = []
    for version in found:
        with contextlib.suppress(
            RemoteMissing
        ):  # the content of now is to be had from the file itself
            texts.append(remote.get_version("note.md", version, max_bytes=99))

    assert [one.size for one in found] == ([6, 3] if remote.traits.versions else [])
    assert [text for text in texts if text != b"second"] == (
        [b"one"] if remote.traits.versions else []
    )
    assert [one.modified for one in found] == sorted((one.modified for one in found), reverse=True)
    assert remote.versions("note.md", fileid=remote.look("note.md").fileid) == found
    with pytest.raises(RemoteMissing):
        remote.get_version("note.md", FileVersion("99999/9", 0, 3), max_bytes=99)


@pytest.mark.sampled
def test_probed_capabilities_agree_with_the_known_ones(
    remote: Remote, request: pytest.FixtureRequest
) -> None:
    traits = remote.probe()

    assert remote.list(deep=True).entries == ()
    assert traits.two_way == (not any(name in request.node.name for name in CARELESS))
    if isinstance(remote, Nextcloud):
        assert traits == replace(Nextcloud.default_traits, bulk=True)


@pytest.mark.sampled
def test_many_threads_may_use_one_remote(remote: Remote) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for step in range(3):
                remote.put(f"{number}-{step}.md", str(step).encode(), expected=None)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert len(remote.list().entries) == 12


def test_two_devices_on_one_in_memory_server_see_each_other() -> None:
    server = RamServer()
    here, there = RamRemote(server), RamRemote(server)

    here.put("note.md", b"x", expected=None)

    assert there.get("note.md", max_bytes=9).raw == b"x"
    assert (here.traffic.requests, there.traffic.requests) == (1, 1)


@pytest.mark.scenario("E86")
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_root_is_not_reported_as_an_empty_folder(kind: str, make: Make) -> None:
    remote = make(kind)
    if isinstance(remote, RamRemote):
        remote.server._nodes.clear()
    elif isinstance(remote, S3):
        remote.at = replace(remote.at, prefix=f"{remote.at.prefix}/nobody")
    else:
        assert isinstance(remote, WebDav)
        remote.at = type(remote.at)(remote.at.origin, remote.at.base + "/nobody")

    with pytest.raises(RootMissing):
        remote.list()


@every("kind", real.HONEST)
def test_a_file_with_a_time_in_the_future_is_replaced_by_its_tag_only(
    kind: str, request: pytest.FixtureRequest
) -> None:
    server: real.Server = request.getfixturevalue("server_named")(kind)
    name = f"contract{next(_numbers)}"
    account = Account(server.user, server.password)
    remote = WebDav(server.make_folder(name), account, sleep=lambda seconds: None)
    remote.traits = remote.probe()
    file = server.root_dir / name / "a.md"

    def from_the_future(raw: bytes) -> str:
        file.write_bytes(raw)
        owner = server.root_dir.stat()
        os.chown(file, owner.st_uid, owner.st_gid)
        os.utime(file, (time.time() + 9000, time.time() + 9000))
        return tag(remote, "a.md")

    first = from_the_future(b"- one\n")
    remote.put("a.md", b"- one\n- mine\n", expected=first)
    assert file.read_bytes() == b"- one\n- mine\n"

    second = from_the_future(b"- two\n")
    from_the_future(b"- theirs, and longer\n")
    for act in (
        lambda: remote.put("a.md", b"- mine\n", expected=second),
        lambda: remote.move("a.md", "b.md", expected=second),
        lambda: remote.delete("a.md", expected=second),
    ):
        with pytest.raises(RemoteChanged):
            act()
    assert file.read_bytes() == b"- theirs, and longer\n"
