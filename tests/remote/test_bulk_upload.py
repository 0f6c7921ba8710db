"""Many new files in one request to a Nextcloud: where they arrive, and which were there already."""

import pytest

from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.faults import Answer, Faulty, LoseAnswer, Rule, Script
from tests.remote.servers.nextcloud import Clock, FakeNextcloud
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remote_errors import OutcomeUnknown, Refused, Unauthorised

FILES = [(f"{number}.md", b"- %d\n" % number) for number in range(6)]


def on(fake: FakeNextcloud, *, folder: str = "", script: Script | None = None) -> Nextcloud:
    app = Faulty(fake, script) if script else fake
    account = Account(fake.user, fake.app_password)
    url = f"http://cloud.example{fake.dav_path}{folder}"
    remote = Nextcloud(url, account, adapter=DirectAdapter(app), sleep=lambda seconds: None)
    remote.list()
    fake.log.clear()
    return remote


@pytest.mark.parametrize("folder", ["", "Notes", "Mein%20Geh%C3%A4use/Notes"])
def test_uploaded_files_arrive_in_the_folder_of_the_remote(
    nextcloud: FakeNextcloud, clock: Clock, folder: str
) -> None:
    name = {"": "", "Notes": "Notes/"}.get(folder, "Mein Gehäuse/Notes/")
    for end in range(1, name.count("/") + 1):
        nextcloud.other_client_mkcol("/".join(name.split("/")[:end]))

    stored = on(nextcloud, folder=folder).put_new(FILES)

    assert nextcloud.files() == {f"{name}{path}": raw for path, raw in FILES}
    assert len(nextcloud.log) == 2
    for path, answer in stored.items():
        file = nextcloud.tree.file(f"{name}{path}")
        assert answer is not None
        assert (answer.etag, answer.fileid, answer.replaced) == (
            f'"{file.etag}"',
            str(file.id),
            False,
        )
        assert answer.modified == file.mtime < clock()


@pytest.mark.parametrize("there", [{0}, {1}, {5}, {0, 1}, {0, 1, 2, 3}, {2, 4}, set(range(6))])
def test_each_overwritten_file_is_reported_as_replaced(
    nextcloud: FakeNextcloud, clock: Clock, there: set[int]
) -> None:
    remote = on(nextcloud)
    for number in there:
        nextcloud.other_client_put(f"{number}.md", b"its\n", mtime=int(clock()) - 1000)

    stored = remote.put_new(FILES)

    marked = {path for path, answer in stored.items() if answer and answer.replaced}
    assert {f"{number}.md" for number in there} <= marked
    if there != {0, 1, 2, 3}:
        assert len(marked) == len(there)


def test_without_version_information_all_files_are_reported_as_replaced(
    nextcloud: FakeNextcloud,
) -> None:
    script = Script([Rule(Answer(503), path="/versions/", times=None)])

    stored = on(nextcloud, script=script).put_new(FILES)

    assert [answer.replaced for answer in stored.values() if answer] == [True] * 6


def test_a_lost_response_is_distinguished_from_a_refusal(nextcloud: FakeNextcloud) -> None:
    script = Script([Rule(LoseAnswer(), path="/dav/bulk"), Rule(Answer(405), path="/dav/bulk")])
    remote = on(nextcloud, script=script)

    with pytest.raises(OutcomeUnknown):
        remote.put_new(FILES)
    with pytest.raises(Refused):
        remote.put_new(FILES)


def test_a_revoked_password_ends_the_bulk_upload(nextcloud: FakeNextcloud) -> None:
    remote = on(nextcloud)
    nextcloud.revoke(nextcloud.app_password)

    with pytest.raises(Unauthorised):
        remote.put_new(FILES)
    assert nextcloud.files() == {}


def test_a_server_without_versions_gets_no_bulk_upload(nextcloud: FakeNextcloud) -> None:
    assert on(nextcloud).probe().bulk
    nextcloud.versions_off()
    assert not on(nextcloud).probe().bulk


def test_the_legacy_address_of_a_nextcloud_offers_no_bulk_upload(nextcloud: FakeNextcloud) -> None:
    account = Account(nextcloud.user, nextcloud.app_password)
    url = "http://cloud.example/remote.php/webdav/"
    remote = Nextcloud(url, account, adapter=DirectAdapter(nextcloud), sleep=lambda seconds: None)

    assert not remote.probe().bulk
    with pytest.raises(Refused):
        remote.put_new(FILES)
