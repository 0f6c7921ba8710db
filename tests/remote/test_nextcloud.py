"""What is done differently for Nextcloud, on the fake one with the traits that were measured on a real one."""

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.every import every
from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.exchange import Seen
from tests.remote.servers.faults import NOT_FOUND, Answer, Faulty, LoseAnswer, Rule, Script
from tests.remote.servers.nextcloud import Clock, FakeNextcloud
from tests.remote.wire import answer, wire
from vault_memory.remote.contract import FileVersion
from vault_memory.remote.http_transport import Account
from vault_memory.remote.login import Login
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remote_errors import (
    NotUnderstood,
    OutcomeUnknown,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteFull,
    RemoteLocked,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
)
from vault_memory.remote.webdav import WebDav

LONG = b"a line of a long note\n" * 2000


def on(
    fake: FakeNextcloud, clock: Clock, *, script: Script | None = None, folder: str = ""
) -> Nextcloud:
    app = Faulty(fake, script) if script else fake
    account = Account(fake.user, fake.app_password)
    return Nextcloud(
        f"http://cloud.example{fake.dav_path}{folder}",
        account,
        adapter=DirectAdapter(app),
        sleep=clock.pass_,
    )


@pytest.fixture
def cloud(nextcloud: FakeNextcloud, clock: Clock) -> Iterator[Nextcloud]:
    remote = on(nextcloud, clock)
    yield remote
    remote.close()


def puts(fake: FakeNextcloud) -> list[Seen]:
    return fake.requests("PUT")


def test_an_idle_check_is_one_request_and_notices_any_change_below(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    nextcloud.other_client_put("a/b/note.md", b"1")
    before = cloud.look("").etag
    requests = len(nextcloud.log)

    assert cloud.look("").etag == before
    assert len(nextcloud.log) == requests + 1

    nextcloud.other_client_put("a/b/note.md", b"2")
    assert cloud.look("").etag != before


def test_a_note_keeps_its_id_when_overwritten_and_renamed(cloud: Nextcloud) -> None:
    first = cloud.put("a.md", b"1", expected=None)
    second = cloud.put("a.md", LONG, expected=first.etag)
    cloud.move("a.md", "b.md", expected=second.etag)

    entry = cloud.look("b.md")
    assert first.fileid == second.fileid == entry.fileid != ""
    assert entry.checksum == second.checksum != first.checksum


def test_two_writes_in_one_second_get_two_tags(cloud: Nextcloud, nextcloud: FakeNextcloud) -> None:
    first = cloud.put("a.md", b"one", expected=None)
    second = cloud.put("a.md", b"two, and longer", expected=first.etag)

    assert second.etag != first.etag
    assert cloud.look("a.md").etag == second.etag
    with pytest.raises(RemoteChanged):
        cloud.put("a.md", b"three", expected=first.etag)
    assert nextcloud.files() == {"a.md": b"two, and longer"}


def test_a_tag_is_confirmed_only_after_its_second_has_passed(
    cloud: Nextcloud, clock: Clock
) -> None:
    cloud.put("a.md", b"one", expected=None)

    assert not cloud.look("a.md").confirmed
    clock.pass_(1)
    assert not cloud.look("a.md").confirmed
    clock.pass_(1)
    assert cloud.look("a.md").confirmed
    assert cloud.get("a.md", max_bytes=9).confirmed


def test_an_interrupted_long_overwrite_leaves_the_old_note_intact(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    stored = cloud.put("a.md", b"the old note", expected=None)
    nextcloud.kill_next_put_at(20_000)

    with pytest.raises(OutcomeUnknown):
        cloud.put("a.md", LONG, expected=stored.etag)

    assert nextcloud.files() == {"a.md": b"the old note"}
    assert cloud.put("a.md", LONG, expected=cloud.look("a.md").etag).checksum
    assert nextcloud.files() == {"a.md": LONG}


def test_a_long_overwrite_of_a_changed_note_changes_nothing_and_leaves_nothing(
    cloud: Nextcloud, nextcloud: FakeNextcloud, clock: Clock
) -> None:
    stored = cloud.put("a.md", b"first", expected=None)
    clock.pass_(5)
    nextcloud.other_client_put("a.md", b"theirs")

    with pytest.raises(RemoteChanged):
        cloud.put("a.md", LONG, expected=stored.etag)

    assert nextcloud.files() == {"a.md": b"theirs"}
    assert not nextcloud.account.uploads


def test_one_edit_takes_the_expected_number_of_requests(
    cloud: Nextcloud, nextcloud: FakeNextcloud, clock: Clock
) -> None:
    stored = cloud.put("a.md", b"first", expected=None)
    clock.pass_(5)
    nextcloud.log.clear()

    stored = cloud.put("a.md", b"second", expected=stored.etag)
    assert [seen.method for seen in nextcloud.log] == ["PUT"]

    clock.pass_(5)
    nextcloud.log.clear()
    cloud.put("a.md", LONG, expected=stored.etag)
    assert [seen.method for seen in nextcloud.log] == ["MKCOL", "PUT", "MOVE"]


def test_names_are_returned_in_the_servers_unicode_form(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    cloud.put("u\u0308ber.md", b"x", expected=None)

    assert [entry.path for entry in cloud.list().entries] == ["\u00fcber.md"]
    with pytest.raises(RemoteChanged):
        cloud.put("\u00fcber.md", b"y", expected=None)
    assert nextcloud.files() == {"\u00fcber.md": b"x"}


@pytest.mark.parametrize(
    "name", ["n" * 248 + ".md", "ü" * 124 + ".md", "x.part", ".htaccess", "a\\b", "a\nb.md"]
)
def test_unsupported_names_are_refused_before_a_request_is_sent(
    name: str, cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    acts: list[Callable[[], object]] = [
        lambda: cloud.put(name, b"x", expected=None),
        lambda: cloud.mkcol(name),
        lambda: cloud.move("a.md", name, expected='"t"'),
    ]
    for act in acts:
        with pytest.raises(Refused):
            act()
    assert nextcloud.log == []


@pytest.mark.scenario("E97")
def test_maintenance_applies_to_the_entire_server_and_gives_a_waiting_time(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    nextcloud.maintenance()

    acts: list[Callable[[], object]] = [cloud.list, lambda: cloud.put("a.md", b"x", expected=None)]
    for act in acts:
        with pytest.raises(RemoteBusy, match="maintenance") as caught:
            act()
        assert caught.value.everywhere
        assert caught.value.retry_after

    nextcloud.maintenance(False)
    assert cloud.list().entries == ()


@pytest.mark.scenario("E83", "E96")
def test_locks_quotas_and_unavailable_storages_are_distinguished(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    nextcloud.other_client_put("ext/note.md", b"x")
    stored = cloud.put("a.md", b"x", expected=None)
    nextcloud.lock("a.md")
    with pytest.raises(RemoteLocked):
        cloud.get("a.md", max_bytes=9)
    with pytest.raises(RemoteLocked):
        cloud.put("a.md", b"y", expected=stored.etag)

    nextcloud.quota(10)
    with pytest.raises(RemoteFull):
        cloud.put("b.md", b"x" * 100, expected=None)

    nextcloud.mount("ext")
    nextcloud.storage_gone("ext")
    with pytest.raises(RemoteBusy) as caught:
        cloud.list("ext")
    assert not caught.value.everywhere
    assert list(cloud.list(deep=True).unknown) == ["ext"], (
        "although a deep listing shows it as an empty folder"
    )


def test_without_chunked_upload_a_long_note_is_sent_in_one_request(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    cloud = on(nextcloud, clock, script=Script([Rule(Answer(404), "MKCOL", "/uploads/")]))
    stored = cloud.put("a.md", b"first", expected=None)

    cloud.put("a.md", LONG, expected=stored.etag)

    assert nextcloud.files() == {"a.md": LONG}
    cloud.close()


@pytest.mark.scenario("E84")
def test_a_revoked_password_is_tried_once_and_causes_no_lockout(
    cloud: Nextcloud, nextcloud: FakeNextcloud
) -> None:
    nextcloud.revoke(nextcloud.app_password)

    for _ in range(20):
        with pytest.raises(Unauthorised):
            cloud.list()

    assert len(nextcloud.log) == 1


def test_a_session_is_kept_by_cookies(nextcloud: FakeNextcloud, nextcloud_url: str) -> None:
    remote = Nextcloud(nextcloud_url, Account(nextcloud.user, nextcloud.app_password))
    for number in range(3):
        remote.put(f"{number}.md", b"x", expected=None)
    thread = threading.Thread(target=lambda: remote.put("other.md", b"x", expected=None))
    thread.start()
    thread.join()
    remote.close()

    assert ["cookie" in seen.headers for seen in puts(nextcloud)] == [False, True, True, False]


def test_a_finished_thread_leaves_no_open_connection(
    nextcloud: FakeNextcloud, nextcloud_url: str
) -> None:
    remote = Nextcloud(nextcloud_url, Account(nextcloud.user, nextcloud.app_password))
    for _ in range(4):
        thread = threading.Thread(target=remote.list)
        thread.start()
        thread.join()
    gc.collect()

    assert len(remote._transport._sessions) == 0
    remote.close()


@pytest.mark.scenario("E81")
def test_after_a_lost_put_response_the_outcome_is_unknown(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    script = Script([Rule(LoseAnswer(), "PUT")])
    cloud = on(nextcloud, clock, script=script)

    with pytest.raises(OutcomeUnknown):
        cloud.put("a.md", b"arrived", expected=None)

    assert len(puts(nextcloud)) == 1
    assert cloud.get("a.md", max_bytes=99).raw == b"arrived"
    cloud.close()


def test_a_403_from_concurrent_creates_is_retried_once(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    script = Script([Rule(Answer(403), "PUT")])
    cloud = on(nextcloud, clock, script=script)

    cloud.put("a.md", b"x", expected=None)

    script.rules.append(Rule(Answer(403), "PUT", times=None))
    with pytest.raises(Refused):
        cloud.put("b.md", b"x", expected=None)
    cloud.close()


@pytest.mark.scenario("E94", "E95")
def write_twice(remote: Nextcloud) -> FileVersion:
    """The note of two texts; returns the version of the first."""
    first = remote.put("note.md", b"one", expected=None)
    remote._sleep(3)
    remote.put("note.md", b"second", expected=first.etag)
    return min(remote.versions("note.md"), key=lambda version: version.modified)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_only_the_server_itself_can_deny_that_versions_exist(
    nextcloud: FakeNextcloud, clock: Clock, status: int
) -> None:
    script = Script()
    remote = on(nextcloud, clock, script=script)
    write_twice(remote)

    assert remote.versions("note.md", fileid="9999") == ()
    script.add(replace(NOT_FOUND, status=status), "PROPFIND", "/versions/")
    with pytest.raises(NotUnderstood):
        remote.versions("note.md")
    assert len(remote.versions("note.md")) == 2


def test_a_version_denied_by_a_proxy_is_requested_again(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    script = Script()
    remote = on(nextcloud, clock, script=script)
    version = write_twice(remote)

    script.add(NOT_FOUND, "GET", "/versions/")
    assert remote.get_version("note.md", version, max_bytes=99) == b"one"
    script.add(NOT_FOUND, times=2)
    with pytest.raises(RootMissing):
        remote.get_version("note.md", version, max_bytes=99)
    script.add(NOT_FOUND, "GET", "/versions/", times=None)
    with pytest.raises(RemoteMissing):
        remote.get_version("note.md", version, max_bytes=99)


def test_another_server_user_folder_or_backup_has_another_identity(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    nextcloud.other_client_mkcol("a")
    nextcloud.other_client_mkcol("b")
    nextcloud.back_up()
    seen = {on(nextcloud, clock).identity(), on(nextcloud, clock, folder="a").identity()}
    seen.add(on(nextcloud, clock, folder="b").identity())
    nextcloud.restore_from_backup()
    seen.add(on(nextcloud, clock).identity())

    assert len(seen) == 4
    assert on(nextcloud, clock).identity() == on(nextcloud, clock).identity()


def test_the_plain_webdav_remote_works_with_nextcloud_too(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    account = Account(nextcloud.user, nextcloud.app_password)
    remote = WebDav(
        f"http://cloud.example{nextcloud.dav_path}", account, adapter=DirectAdapter(nextcloud)
    )

    traits = remote.probe()

    assert traits.two_way
    assert traits.recursive_etags
    assert nextcloud.files() == {}
    remote.close()


def test_a_login_is_granted_in_the_browser(nextcloud: FakeNextcloud, nextcloud_url: str) -> None:
    login = Login(nextcloud_url)
    assert login.page.startswith("http://127.0.0.1:")
    assert login.poll() is None

    nextcloud.grant(login.page)
    granted = login.poll()

    assert granted is not None
    assert granted.url == nextcloud_url.rstrip("/")
    assert granted.password not in repr(granted)
    remote = Nextcloud(granted.url, Account(granted.user, granted.password))
    assert remote.list().entries == ()
    remote.close()
    assert login.poll() is None
    login.close()


@pytest.mark.scenario("H125")
@every(
    "body",
    [
        b'{"poll": {"token": "t", "endpoint": "http://169.254.169.254/poll"}, "login": "http://169.254.169.254/x"}',
        b'{"poll": {"token": "t", "endpoint": "https://elsewhere.example/poll"}, "login": "https://elsewhere.example/x"}',
        b'{"poll": 1}',
        b"[]",
        b"<html>",
    ],
)
def test_a_login_page_on_another_server_is_refused(body: bytes) -> None:
    with (
        wire(answer(200, body, "Content-Type: application/json")) as server,
        pytest.raises(NotUnderstood),
    ):
        Login(server.origin)


def test_a_login_at_an_unreachable_server_is_reported() -> None:
    with wire(b"") as server:
        origin = server.origin
    with pytest.raises(RemoteUnreachable):
        Login(origin)
