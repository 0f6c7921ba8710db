"""The fake Nextcloud has the traits of the real one that the table of all servers does not show."""

import gzip
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest
import requests

from tests.remote.servers.asking import FILES, ORIGIN, UPLOADS, ask, basic, error, prop
from tests.remote.servers.exchange import ConnectionLost, Response
from tests.remote.servers.nextcloud import Clock, FakeNextcloud


@pytest.fixture
def cloud(nextcloud: FakeNextcloud) -> FakeNextcloud:
    return nextcloud


class TestTags:
    def test_a_second_overwrite_within_a_second_keeps_the_tag(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        cloud.other_client_put("a.md", b"first\n")
        clock.pass_(100)
        base = ask(cloud, "PUT", "a.md", b"second\n").headers["ETag"]

        clock.pass_(0.4)
        again = ask(cloud, "PUT", "a.md", b"longer than before\n", OC_Checksum="SHA1:1")

        assert again.headers["ETag"] == base
        assert ask(cloud, "PUT", "a.md", b"lost without a word\n", If_Match=base).status == 204
        clock.pass_(1)
        assert ask(cloud, "PUT", "a.md", b"a second later\n").headers["ETag"] != base

    def test_a_tag_depends_on_the_clients_mtime_and_the_size(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        def put(body: bytes, mtime: int) -> str:
            clock.pass_(2)
            return ask(cloud, "PUT", "a.md", body, X_OC_Mtime=str(mtime)).headers["ETag"]

        first = put(b"12345", 1_700_000_000)

        assert put(b"54321", 1_700_000_000) == first
        assert put(b"54321", 1_700_000_001) != first
        assert put(b"123456", 1_700_000_000) != first

    def test_every_parent_folder_gets_a_new_tag_even_if_the_file_keeps_its_own(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        cloud.other_client_put("x/y/a.md", b"1")
        before = [cloud.tree.at(path).etag for path in ("", "x", "x/y", "x/y/a.md")]

        ask(cloud, "PUT", "x/y/a.md", b"2")
        after = [cloud.tree.at(path).etag for path in ("", "x", "x/y", "x/y/a.md")]

        assert [old == new for old, new in zip(before, after, strict=True)] == [
            False,
            False,
            False,
            True,
        ]

    def test_the_file_id_survives_put_move_and_trash(self, cloud: FakeNextcloud) -> None:
        number = ask(cloud, "PUT", "a.md", b"1").headers["OC-FileId"]

        assert ask(cloud, "PUT", "a.md", b"2").headers["OC-FileId"] == number
        moved = ask(cloud, "MOVE", "a.md", Destination=f"{ORIGIN}{FILES}/b.md")
        assert (moved.status, moved.headers["OC-FileId"]) == (201, number)
        ask(cloud, "DELETE", "b.md")
        entry = next(iter(cloud.tree.trash))
        trash = f"/remote.php/dav/trashbin/mira/trash/{entry}"
        restored = ask(
            cloud,
            "MOVE",
            trash,
            Destination=f"{ORIGIN}/remote.php/dav/trashbin/mira/restore/{entry}",
        )
        assert restored.status == 201
        assert prop(cloud, "b.md", "id") == number

    def test_a_file_moved_over_another_trashes_it_and_keeps_its_own_id(
        self, cloud: FakeNextcloud
    ) -> None:
        ask(cloud, "PUT", "note.md", b"old")
        number = ask(cloud, "PUT", "temporary.md", b"new").headers["OC-FileId"]

        assert (
            ask(cloud, "MOVE", "temporary.md", Destination=f"{ORIGIN}{FILES}/note.md").status == 204
        )
        assert prop(cloud, "note.md", "id") == number
        assert [entry.node.name for entry in cloud.tree.trash.values()] == ["note.md"]

    def test_a_moved_folder_keeps_the_tags_and_ids_below_it(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("x/a.md", b"1")
        before = [(node.id, node.etag) for node in (cloud.tree.at("x"), cloud.tree.at("x/a.md"))]

        ask(cloud, "MOVE", "x", Destination=f"{ORIGIN}{FILES}/y")

        assert [
            (node.id, node.etag) for node in (cloud.tree.at("y"), cloud.tree.at("y/a.md"))
        ] == before

    def test_compression_changes_the_etag_header_and_only_oc_etag_is_usable(
        self, clock: Clock
    ) -> None:
        cloud = FakeNextcloud(clock=clock, deflates=True)
        ask(cloud, "PUT", "a.md", b"text\n")

        packed = ask(cloud, "GET", "a.md", Accept_Encoding="gzip")

        assert gzip.decompress(packed.body) == b"text\n"
        assert packed.headers["ETag"] == packed.headers["OC-ETag"][:-1] + '-gzip"'
        assert ask(cloud, "PUT", "a.md", b"2", If_Match=packed.headers["ETag"]).status == 412
        assert ask(cloud, "GET", "a.md", If_None_Match=packed.headers["ETag"]).status == 200
        assert ask(cloud, "GET", "a.md", If_None_Match=packed.headers["OC-ETag"]).status == 304
        assert (
            ask(cloud, "GET", "a.md", Accept_Encoding="identity").headers["ETag"]
            == packed.headers["OC-ETag"]
        )

    def test_a_checksum_is_stored_as_given_until_a_put_without_one(
        self, cloud: FakeNextcloud
    ) -> None:
        ask(cloud, "PUT", "a.md", b"1", OC_Checksum="SHA1:wrong")
        assert prop(cloud, "a.md", "checksums") == "SHA1:wrong"

        ask(cloud, "PUT", "a.md", b"2")
        assert prop(cloud, "a.md", "checksums") is None

    def test_a_change_on_disk_is_noticed_when_the_file_is_read(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        tag = ask(cloud, "PUT", "a.md", b"1").headers["ETag"]
        clock.pass_(5)

        cloud.write_behind("a.md", b"from behind")
        listed = f'"{cloud.tree.at("a.md").etag}"'
        read = ask(cloud, "GET", "a.md")

        assert listed == tag
        assert read.body == b"from behind"
        assert read.headers["ETag"] != tag


class TestWrites:
    def test_a_killed_overwrite_leaves_a_truncated_file_and_a_complete_version(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        first = ask(cloud, "PUT", "a.md", b"the old text\n")
        clock.pass_(5)
        cloud.kill_next_put_at(4)

        with pytest.raises(ConnectionLost):
            ask(cloud, "PUT", "a.md", b"the new text, longer\n", If_Match=first.headers["ETag"])

        now = ask(cloud, "GET", "a.md")
        assert now.body == b"the "
        assert now.headers["ETag"] != first.headers["ETag"]
        assert now.headers["OC-FileId"] == first.headers["OC-FileId"]
        assert list(cloud.tree.file("a.md").versions.values()) == [b"the old text\n"]
        assert cloud.log[-2].status == 0

    def test_a_killed_create_leaves_nothing(self, cloud: FakeNextcloud) -> None:
        cloud.kill_next_put_at(4)

        with pytest.raises(ConnectionLost):
            ask(cloud, "PUT", "a.md", b"text\n")

        assert ask(cloud, "GET", "a.md").status == 404

    def test_a_single_chunk_upload_overwrites_a_file_only_with_the_matching_tag(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        before = ask(cloud, "PUT", "a.md", b"old").headers
        target = f"{ORIGIN}{FILES}/a.md"
        clock.pass_(5)

        def upload(name: str, **headers: str) -> Response:
            assert ask(cloud, "MKCOL", f"{UPLOADS}/{name}", Destination=target).status == 201
            assert (
                ask(cloud, "PUT", f"{UPLOADS}/{name}/00001", b"new ", Destination=target).status
                == 201
            )
            assert (
                ask(cloud, "PUT", f"{UPLOADS}/{name}/00002", b"text", Destination=target).status
                == 201
            )
            return ask(cloud, "MOVE", f"{UPLOADS}/{name}/.file", b"", Destination=target, **headers)

        assert upload("one", If=f'<{target}> (["wrong"])').status == 412
        assert upload("two", If_Match=before["ETag"]).status == 412
        assert upload("three", Overwrite="F").status == 412
        assert upload("four", OC_Total_Length="7").status == 400
        assert cloud.files() == {"a.md": b"old"}
        done = upload(
            "five",
            If=f"<{target}> ([{before['ETag']}])",
            OC_Total_Length="8",
            X_OC_Mtime="1700000000",
        )
        assert (done.status, done.headers["X-OC-MTime"]) == (204, "accepted")
        assert cloud.files() == {"a.md": b"new text"}
        assert done.headers["OC-FileId"] == before["OC-FileId"]
        assert prop(cloud, "a.md", "getetag", "DAV:") == done.headers["OC-ETag"]

    def test_a_kill_during_chunk_assembly_truncates_as_well(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("a.md", b"old text\n")
        ask(cloud, "MKCOL", f"{UPLOADS}/u")
        ask(cloud, "PUT", f"{UPLOADS}/u/1", b"new text\n")
        cloud.kill_next_assembly_at(3)

        with pytest.raises(ConnectionLost):
            ask(cloud, "MOVE", f"{UPLOADS}/u/.file", Destination=f"{ORIGIN}{FILES}/a.md")

        assert cloud.files() == {"a.md": b"new"}

    def test_a_bulk_upload_overwrites_existing_files(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("a.md", b"an edit nobody has seen\n")
        cloud.other_client_put("held.md", b"held\n")
        cloud.lock("held.md")
        files = {"a.md": b"from the desktop\n", "b.md": b"", "none/c.md": b"1", "held.md": b"2"}

        answer = ask_bulk(
            cloud, b"".join(bulk_part(name, raw) for name, raw in files.items()) + b"--sep--\r\n"
        )

        said = json.loads(answer.body)
        assert {path: one["error"] for path, one in said.items()} == {
            "/a.md": False,
            "/b.md": False,
            "/none/c.md": True,
            "/held.md": True,
        }
        assert cloud.files() == {"a.md": b"from the desktop\n", "b.md": b"", "held.md": b"held\n"}
        assert said["/a.md"]["etag"] == cloud.tree.file("a.md").etag
        assert list(cloud.tree.file("a.md").versions.values()) == [b"an edit nobody has seen\n"]

    def test_a_bulk_upload_stops_at_the_first_damaged_part(self, cloud: FakeNextcloud) -> None:
        damaged = bulk_part("b.md", b"whole\n").replace(b"whole", b"other")

        answer = ask_bulk(
            cloud, bulk_part("a.md", b"1") + damaged + bulk_part("c.md", b"3") + b"--sep--\r\n"
        )

        assert (answer.status, list(json.loads(answer.body))) == (400, ["/a.md"])
        assert cloud.files() == {"a.md": b"1"}

    def test_a_put_may_be_stored_in_part_and_still_be_acknowledged(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        cloud.other_client_put("a.md", b"old\n")
        clock.pass_(5)
        cloud.cut_next_put_short_at(4)

        created = ask(cloud, "PUT", "b.md", b"a new note\n")
        answer = ask(cloud, "PUT", "a.md", b"the new text\n")

        assert (created.status, answer.status) == (201, 204)
        assert cloud.files() == {"a.md": b"the ", "b.md": b"a new note\n"}
        assert prop(cloud, "a.md", "getetag", "DAV:") == answer.headers["OC-ETag"]

    def test_an_invalid_mtime_is_rejected_only_after_the_bytes_are_stored(
        self, cloud: FakeNextcloud
    ) -> None:
        assert ask(cloud, "PUT", "a.md", b"1", X_OC_Mtime="0").status == 500
        assert cloud.files() == {"a.md": b"1"}

    def test_nothing_is_written_above_the_quota(self, cloud: FakeNextcloud) -> None:
        cloud.other_client_put("a.md", b"12345")
        cloud.quota(8)

        refused = ask(cloud, "PUT", "b.md", b"1234")

        assert (refused.status, error(refused)) == (507, "InsufficientStorage")
        assert ask(cloud, "PUT", "b.md", b"123").status == 201

    def test_a_locked_file_answers_423_without_a_waiting_time(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        cloud.other_client_put("x/a.md", b"1")
        cloud.lock("x/a.md", 3588)

        answers = [ask(cloud, method, "x/a.md", b"2") for method in ("GET", "PUT", "DELETE")]
        answers.append(ask(cloud, "DELETE", "x"))

        assert {answer.status for answer in answers} == {423}
        assert {error(answer) for answer in answers} == {"FileLocked"}
        assert not any("Retry-After" in answer.headers for answer in answers)
        clock.pass_(3589)
        assert ask(cloud, "PUT", "x/a.md", b"2").status == 204

    def test_versions_list_the_current_content_first_but_serve_only_earlier_ones(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        for text in (b"1", b"22", b"333"):
            number = int(ask(cloud, "PUT", "a.md", text).headers["OC-FileId"].partition("oc")[0])
            clock.pass_(1)

        entries = version_entries(cloud, number)
        answers = [ask(cloud, "GET", href) for href, _ in entries]

        assert [size for _, size in entries] == [3, 2, 1]
        assert [answer.status for answer in answers] == [404, 200, 200]
        assert [answer.body for answer in answers[1:]] == [b"22", b"1"]
        assert ask(cloud, "HEAD", entries[0][0]).status == 200
        target = f"{ORIGIN}/remote.php/dav/versions/mira/restore/target"
        assert ask(cloud, "MOVE", entries[-1][0], Destination=target).status == 201
        assert cloud.files() == {"a.md": b"1"}

    def test_two_writes_in_a_second_share_a_version_with_mixed_size_and_text(
        self, cloud: FakeNextcloud, clock: Clock
    ) -> None:
        ask(cloud, "PUT", "a.md", b"first")
        clock.pass_(1)
        ask(cloud, "PUT", "a.md", b"second")
        number = int(
            ask(cloud, "PUT", "a.md", b"the third").headers["OC-FileId"].partition("oc")[0]
        )

        entries = version_entries(cloud, number)

        assert [size for _, size in entries] == [len(b"the third"), len(b"first")]
        assert [ask(cloud, "GET", href).body for href, _ in entries] == [b"second", b"first"]


def version_entries(cloud: FakeNextcloud, number: int) -> list[tuple[str, int]]:
    """Address and listed size of each version of a file."""
    folder = f"/remote.php/dav/versions/mira/versions/{number}"
    listing = ElementTree.fromstring(ask(cloud, "PROPFIND", folder, Depth="1").body)
    lines = list(listing.iter("{DAV:}response"))[1:]
    return [
        (line.findtext("{DAV:}href") or "", int(line.findtext(".//{DAV:}getcontentlength") or -1))
        for line in lines
    ]


def bulk_part(name: str, raw: bytes) -> bytes:
    digest = hashlib.md5(raw).hexdigest()
    head = f"X-File-Path: /{name}\r\nX-OC-Mtime: 1700000000\r\nX-File-MD5: {digest}\r\nContent-Length: {len(raw)}"
    return b"--sep\r\n" + head.encode() + b"\r\n\r\n" + raw + b"\r\n"


def ask_bulk(cloud: FakeNextcloud, body: bytes) -> Response:
    return ask(
        cloud, "POST", "/remote.php/dav/bulk", body, Content_Type="multipart/related; boundary=sep"
    )


@pytest.mark.parametrize("condition", ["If-Match", "If-None-Match"])
def test_of_concurrent_writers_with_the_same_condition_one_succeeds(
    nextcloud: FakeNextcloud, nextcloud_url: str, clock: Clock, condition: str
) -> None:
    value = "*"
    if condition == "If-Match":
        value = ask(nextcloud, "PUT", "a.md", b"old").headers["ETag"]
        clock.pass_(5)
    else:
        nextcloud.other_client_put("b.md", b"1")

    def write(number: int) -> int:
        headers = {condition: value, **basic("mira", nextcloud.app_password)}
        return requests.put(
            f"{nextcloud_url}a.md", data=b"text %d" % number, headers=headers, timeout=120
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(write, range(8)))

    assert statuses[0] in (201, 204)
    assert set(statuses[1:]) <= {412, 423}


def test_the_same_requests_get_identical_responses() -> None:
    def run() -> list[tuple[int, dict[str, str], bytes]]:
        cloud = FakeNextcloud(clock=Clock(), seed="7")
        cloud.other_client_put("x/a.md", b"1")
        answers = [
            ask(cloud, "PUT", "b.md", b"2"),
            ask(cloud, "DELETE", "x"),
            ask(cloud, "PROPFIND", "", Depth="1"),
        ]
        return [(answer.status, answer.headers, answer.body) for answer in answers]

    assert run() == run()
