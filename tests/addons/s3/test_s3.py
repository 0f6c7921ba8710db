"""A home in S3 beyond the contract: what a store or a proxy does wrong, and what S3 does in its own way."""

import datetime
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from botocore import auth

from tests.addons.s3.conftest import StoreNamed
from tests.effort import only_full
from tests.remote.servers import s3_stores
from tests.remote.servers.exchange import Response
from tests.remote.servers.faults import (
    LOGIN_WITH_200,
    NOT_FOUND,
    Answer,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    Rewrite,
)
from tests.remote.servers.s3_proxy import S3Proxy
from tests.remote.servers.s3_stores import S3Store
from tests.remote.wire import answer, wire
from vault_memory.addons.s3.s3_address import s3_address
from vault_memory.addons.s3.s3_client import S3Place
from vault_memory.addons.s3.s3_remote import S3
from vault_memory.errors import ConfigError
from vault_memory.remote.contract import FileVersion
from vault_memory.remote.http_transport import Account
from vault_memory.remote.remote_errors import (
    AnsweredByProxy,
    ClocksDiffer,
    NotUnderstood,
    OutcomeUnknown,
    PreconditionsIgnored,
    Refused,
    RemoteBusy,
    RemoteChanged,
    RemoteError,
    RemoteFull,
    RemoteMissing,
    RemoteUnreachable,
    RootMissing,
    Unauthorised,
    WrongRegion,
)

XML = {"Content-Type": "application/xml"}


def through(proxy: S3Proxy, url: str) -> S3:
    return S3(url, s3_stores.ACCOUNT, S3Place(proxy.url, "us-east-1"), deadline=10)


def refusal(status: int, code: str, **headers: str) -> Answer:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {**XML, **named}, body.encode())


# --- Preconditions ---


def test_a_proxy_that_removes_if_match_is_refused_before_anything_is_written(
    store: S3Store,
) -> None:
    url = store.new_home()
    store.open(url).put("note.md", b"mine", expected=None)
    with S3Proxy(store.endpoint, lost=["If-Match"]) as proxy:
        remote = through(proxy, url)

        with pytest.raises(PreconditionsIgnored) as raised:
            remote.probe()

        assert proxy.writes == []
    assert raised.value.exit_code == 3
    assert "proxy" in raised.value.hint
    assert store.open(url).get("note.md", max_bytes=9).raw == b"mine"


@pytest.mark.sampled
@pytest.mark.parametrize("lost", ["If-Match", "If-None-Match"])
def test_a_store_that_ignores_a_precondition_is_refused_in_an_empty_home(
    lost: str, moto: S3Store
) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint, lost=[lost]) as proxy:
        with pytest.raises(PreconditionsIgnored):
            through(proxy, url).probe()

        assert all("vault-memory-probe-" in path for path in proxy.writes)
    assert moto.open(url).list(deep=True).entries == ()


def test_a_store_that_deletes_in_spite_of_a_precondition_is_refused(moto: S3Store) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint) as proxy:
        # The last step but one: the delete that must fail.
        proxy.script.add(Answer(204), "DELETE", "vault-memory-probe-")

        with pytest.raises(PreconditionsIgnored):
            through(proxy, url).probe()

    assert moto.open(url).list(deep=True).entries == ()


@pytest.mark.sampled
def test_a_probe_leaves_no_version_behind(store: S3Store) -> None:
    remote = store.open(store.new_home(versions=True))

    traits = remote.probe()

    assert traits.versions
    client = store.boto()
    kept = client.list_object_versions(
        Bucket=s3_stores.VERSIONED, Prefix=f"{remote.at.prefix}/vault-memory-probe-"
    )
    assert not kept.get("Versions")
    assert not kept.get("DeleteMarkers")


def test_an_interrupted_probe_is_tidied_after_an_hour(moto: S3Store) -> None:
    url = moto.new_home()
    scratch = "vault-memory-probe-0123456789ab.tmp"
    moto.open(url).put(scratch, b"first", expected=None)
    remote = moto.open(url)

    remote.tidy()
    assert [entry.path for entry in remote.list().entries] == [scratch]

    class Later(S3):
        @property
        def clock(self) -> int:
            return super().clock + 3600

    Later(url, s3_stores.ACCOUNT, moto.place).tidy()
    assert remote.list().entries == ()


def test_an_empty_home_still_exists_after_a_probe(store: S3Store) -> None:
    url = store.new_url()
    remote = store.open(url)
    stored = remote.put("only.md", b"x", expected=None)

    remote.probe()
    remote.delete("only.md", expected=stored.etag)

    assert remote.list().entries == ()


def test_a_whole_bucket_can_be_a_home(store: S3Store) -> None:
    bucket = f"whole-bucket-{time.time_ns()}"
    store.boto().create_bucket(Bucket=bucket)
    remote = store.open(f"s3://{bucket}")

    assert remote.list(deep=True).entries == ()
    assert remote.probe().two_way
    remote.mkcol("a")
    remote.put("a/note.md", b"x", expected=None)

    assert [entry.path for entry in remote.list(deep=True).entries] == ["a", "a/note.md"]


# --- Listings ---


# A real store needs seconds to take so many keys.
@pytest.mark.sampled
@pytest.mark.parametrize("name", ["s3-moto", pytest.param("s3-seaweed", marks=only_full)])
def test_a_listing_of_2500_keys_takes_three_requests(name: str, s3_store_named: StoreNamed) -> None:
    store = s3_store_named(name)
    url = store.new_home()
    remote = store.open(url)
    names = {f"n{number:04}.md" for number in range(2499)}
    store.fill(url, names)
    before = remote.traffic.requests

    listed = remote.list(deep=True)

    assert {entry.path for entry in listed.entries} == names
    assert remote.traffic.requests - before == 3


@pytest.fixture
def tokyo() -> Iterator[None]:
    """This machine is in another time zone than the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def without_zone(response: Response) -> Response:
    body = response.body.replace(b"Z</LastModified>", b"</LastModified>")
    headers = {**response.headers, "Content-Length": str(len(body))}
    return Response(response.status, headers, body)


def test_the_time_of_a_note_is_the_same_in_each_answer(moto: S3Store, tokyo: None) -> None:
    url = moto.new_home()
    moto.open(url).put("note.md", b"x", expected=None)
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(Rewrite(without_zone), "GET", times=1)
        remote = through(proxy, url)

        listed = [entry.modified for entry in remote.list().entries]

    fetched = moto.open(url).get("note.md", max_bytes=9).modified
    assert listed == [fetched]
    assert abs(fetched - time.time()) < 60


def without_token(response: Response) -> Response:
    body = response.body.replace(b"IsTruncated>false", b"IsTruncated>true")
    headers = {**response.headers, "Content-Length": str(len(body))}
    return Response(response.status, headers, body)


def with_same_token(response: Response) -> Response:
    body = without_token(response).body.replace(
        b"</ListBucketResult>",
        b"<NextContinuationToken>again</NextContinuationToken></ListBucketResult>",
    )
    headers = {**response.headers, "Content-Length": str(len(body))}
    return Response(response.status, headers, body)


@pytest.mark.scenario("E89")
@pytest.mark.parametrize("change", [without_token, with_same_token])
def test_a_listing_without_an_end_is_never_taken_for_complete(
    change: Callable[[Response], Response], moto: S3Store
) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(Rewrite(change), "GET", times=None)

        with pytest.raises(NotUnderstood):
            through(proxy, url).list(deep=True)

        assert len(proxy.log) <= 2


@pytest.mark.scenario("E87")
@pytest.mark.parametrize(
    "page",
    [
        LOGIN_WITH_200,
        Answer(200, XML, b"<html/>"),
        Answer(200, XML, b"<ListBucketResult/>"),
        Answer(200, XML, b"<List"),
        Answer(200),
    ],
)
def test_a_page_is_never_taken_for_an_empty_home(page: Answer, moto: S3Store) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(page, "GET")

        with pytest.raises(NotUnderstood):
            through(proxy, url).list(deep=True)


@pytest.mark.scenario("H119")
def test_keys_that_no_file_can_have_are_left_alone(moto: S3Store) -> None:
    url = moto.new_home()
    remote = moto.open(url)
    client = moto.boto()
    for name in ("a//b.md", "c/../d.md", "\\up.md", "ok/x\u202ey.md", "good.md"):
        client.put_object(Bucket=s3_stores.BUCKET, Key=f"{remote.at.prefix}/{name}", Body=b"x")

    listed = remote.list(deep=True)

    assert "good.md" in [entry.path for entry in listed.entries]
    assert listed.dropped >= 2
    readable = {entry.path for entry in listed.entries}
    assert not readable & {"a//b.md", "c/../d.md", "\\up.md"}


def test_a_file_and_a_folder_of_one_name_are_left_alone(moto: S3Store) -> None:
    remote = moto.open(moto.new_home())
    remote.put("a", b"file", expected=None)
    remote.put("a/b.md", b"below", expected=None)
    remote.put("c.md", b"x", expected=None)

    listed = remote.list(deep=True)

    assert [entry.path for entry in listed.entries] == ["c.md"]
    assert list(listed.unknown) == ["a"]


# --- Files ---


def test_the_checksum_of_a_note_is_kept_beside_it(store: S3Store) -> None:
    remote = store.open(store.new_home())
    remote.put("note.md", b"first", expected=None)

    assert remote.look("note.md").checksum == (
        "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e"
    )


def test_a_tag_of_several_parts_is_returned_as_it_came(store: S3Store) -> None:
    remote = store.open(store.new_home())
    client = store.boto()
    key = f"{remote.at.prefix}/long.md"
    upload = client.create_multipart_upload(Bucket=s3_stores.BUCKET, Key=key)
    parts = []
    for number, body in enumerate((b"a" * 5 * 2**20, b"end"), 1):
        part = client.upload_part(
            Bucket=s3_stores.BUCKET,
            Key=key,
            UploadId=upload["UploadId"],
            PartNumber=number,
            Body=body,
        )
        parts.append({"PartNumber": number, "ETag": part["ETag"]})
    client.complete_multipart_upload(
        Bucket=s3_stores.BUCKET,
        Key=key,
        UploadId=upload["UploadId"],
        MultipartUpload={"Parts": parts},
    )

    fetched = remote.get("long.md", max_bytes=2**23)
    with pytest.raises(RemoteChanged):
        remote.put("long.md", b"x", expected='"0-1"')
    remote.put("long.md", b"short", expected=fetched.etag)

    assert "-2" in fetched.etag
    assert remote.get("long.md", max_bytes=9).raw == b"short"


@pytest.mark.sampled
def test_all_versions_of_a_note_can_be_erased(store: S3Store) -> None:
    remote = store.open(store.new_home(versions=True))
    remote.probe()
    stored = remote.put("note.md", b"one", expected=None)
    stored = remote.put("note.md", b"second", expected=stored.etag)
    remote.put("note.md.md", b"other", expected=None)
    remote.delete("note.md", expected=stored.etag)
    assert [version.size for version in remote.versions("note.md")] == [6, 3]

    assert remote.erase_versions("note.md") == 3

    assert remote.versions("note.md") == ()
    assert [entry.path for entry in remote.list().entries] == ["note.md.md"]
    with pytest.raises(RemoteMissing):
        remote.get_version("note.md", FileVersion("null", 0, 3), max_bytes=9)


def test_a_rename_that_stops_between_its_steps_loses_nothing(moto: S3Store) -> None:
    url = moto.new_home()
    direct = moto.open(url)
    stored = direct.put("old.md", b"text", expected=None)
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(LoseRequest(), "DELETE")

        with pytest.raises(OutcomeUnknown):
            through(proxy, url).move("old.md", "new.md", expected=stored.etag)

    texts = [direct.get(entry.path, max_bytes=9).raw for entry in direct.list().entries]
    assert texts == [b"text", b"text"]


def test_an_edit_during_a_rename_stays_under_the_old_name(moto: S3Store) -> None:
    url = moto.new_home()
    direct = moto.open(url)
    stored = direct.put("old.md", b"text", expected=None)

    def edit() -> None:
        direct.put("old.md", b"edited", expected=stored.etag)

    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(Meanwhile(edit), "DELETE")

        with pytest.raises(RemoteChanged):
            through(proxy, url).move("old.md", "new.md", expected=stored.etag)

    assert [entry.path for entry in direct.list().entries] == ["old.md"]
    assert direct.get("old.md", max_bytes=9).raw == b"edited"


@pytest.mark.parametrize(
    "path",
    [
        "../up.md",
        "a/../b.md",
        "./a.md",
        "/etc/passwd",
        "a//b.md",
        "a\\b.md",
        "x\0.md",
        "x\n.md",
        "\ud800.md",
        "n" * 1030,
        "n/" * 510 + "n.md",
    ],
)
def test_a_name_that_s3_refuses_is_refused_without_a_request(path: str) -> None:
    remote = S3("s3://homes/ann", s3_stores.ACCOUNT, S3Place("http://127.0.0.1:9"))

    with pytest.raises(Refused):
        remote.put(path, b"x", expected=None)

    assert remote.refuses(path)
    assert remote.traffic.requests == 0


# --- Errors ---


def test_a_missing_bucket_is_not_an_empty_home(store: S3Store) -> None:
    remote = store.open("s3://no-such-bucket/ann")

    for ask in (remote.list, remote.probe, lambda: remote.look("")):
        with pytest.raises(RootMissing):
            ask()
    names = [bucket["Name"] for bucket in store.boto().list_buckets()["Buckets"]]
    assert "no-such-bucket" not in names


@pytest.mark.parametrize(
    "keys", [f"{s3_stores.KEY_ID}\nwrong-secret-9731", "nobody-4406\nwrong-secret-9731"]
)
def test_wrong_keys_are_a_refused_login_that_repeats_no_secret(keys: str, seaweed: S3Store) -> None:
    remote = S3(seaweed.new_home(), Account("", keys), seaweed.place)

    for ask in (
        remote.list,
        lambda: remote.look("note.md"),
        lambda: remote.get("note.md", max_bytes=9),
        lambda: remote.put("note.md", b"x", expected=None),
        remote.probe,
    ):
        with pytest.raises(Unauthorised) as raised:
            ask()
        shown = f"{raised.value} {raised.value.hint} {raised.value.as_json()} {remote!r}"
        assert raised.value.exit_code == 3
        assert "wrong-secret" not in shown
        assert "nobody-4406" not in shown


CASES = [
    (refusal(403, "RequestTimeTooSkewed"), ClocksDiffer, ClocksDiffer),
    (refusal(403, "AccessDenied"), RootMissing, Refused),
    (refusal(403, "InvalidAccessKeyId"), Unauthorised, Unauthorised),
    (refusal(400, "ExpiredToken"), Unauthorised, Unauthorised),
    (refusal(503, "SlowDown"), RemoteBusy, RemoteBusy),
    (refusal(503, "ServiceUnavailable"), RemoteBusy, RemoteBusy),
    (refusal(429, "TooManyRequests"), RemoteBusy, RemoteBusy),
    (refusal(400, "RequestTimeout"), RemoteBusy, RemoteBusy),
    (refusal(409, "ConditionalRequestConflict"), RemoteChanged, RemoteChanged),
    (refusal(507, "InsufficientStorage"), RemoteFull, RemoteFull),
    (refusal(500, "InternalError"), NotUnderstood, OutcomeUnknown),
    (Answer(502), RemoteUnreachable, OutcomeUnknown),
    (Answer(504), RemoteUnreachable, OutcomeUnknown),
    (refusal(400, "KeyTooLongError"), RootMissing, Refused),
    (NOT_FOUND, AnsweredByProxy, AnsweredByProxy),
    (LoseRequest(), NotUnderstood, OutcomeUnknown),
    (LoseAnswer(), NotUnderstood, OutcomeUnknown),
    (LOGIN_WITH_200, NotUnderstood, OutcomeUnknown),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("fault", "reading", "writing"), CASES)
def test_each_trouble_has_the_error_of_a_webdav_server(
    fault: Answer, reading: type[RemoteError], writing: type[RemoteError], moto: S3Store
) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint) as proxy:
        remote = through(proxy, url)
        proxy.script.add(fault, "GET")
        proxy.script.add(fault, "PUT")

        with pytest.raises(reading) as read:
            remote.list()
        with pytest.raises(writing) as written:
            remote.put("note.md", b"x", expected=None)

        assert (type(read.value), type(written.value)) == (reading, writing)
        assert remote.list().folder.is_folder
        assert len(proxy.log) <= 3


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fault", "is_silence"),
    [
        (refusal(500, "InternalError"), True),
        (LoseRequest(), True),
        (LoseAnswer(), True),
        (LOGIN_WITH_200, False),
        (NOT_FOUND, False),
    ],
)
def test_a_store_that_says_nothing_is_told_from_a_page_in_its_place(
    fault: Answer, is_silence: bool, moto: S3Store
) -> None:
    url = moto.new_home()
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(fault, "GET")
        with pytest.raises(NotUnderstood) as read:
            through(proxy, url).list()
        assert read.value.is_silence is is_silence


@pytest.mark.parametrize("hours", [-1, 1])
def test_differing_clocks_are_named(
    hours: int, seaweed: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = seaweed.new_home()
    clock = auth.get_current_datetime
    monkeypatch.setattr(
        auth,
        "get_current_datetime",
        lambda *options, **named: clock(*options, **named) + datetime.timedelta(hours=hours),
    )

    with pytest.raises(ClocksDiffer, match="clocks") as raised:
        seaweed.open(url).list()

    assert "clock" in raised.value.hint


def test_a_busy_store_says_how_long_to_wait(moto: S3Store) -> None:
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(refusal(503, "SlowDown", Retry_After="7"))

        with pytest.raises(RemoteBusy) as raised:
            through(proxy, moto.new_home()).list()

    assert (raised.value.retry_after, raised.value.everywhere) == (7.0, True)
    assert raised.value.exit_code == 75


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (refusal(301, "PermanentRedirect", x_amz_bucket_region="eu-west-1"), True),
        (refusal(400, "AuthorizationHeaderMalformed"), False),
        (refusal(301, "PermanentRedirect", x_amz_bucket_region="x`; rm -rf ~"), False),
        (Answer(302, {"Location": "https://evil.example/"}), False),
    ],
)
def test_a_bucket_elsewhere_is_named_and_not_followed(
    fault: Answer, named: bool, moto: S3Store
) -> None:
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(fault)

        with pytest.raises(WrongRegion) as raised:
            through(proxy, moto.new_home()).list()

        assert proxy.log == []
    assert ("`eu-west-1`" in raised.value.message) == named
    assert "rm -rf" not in f"{raised.value} {raised.value.hint}"


def test_an_unreachable_store_is_reported_as_such() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = S3Place(f"http://127.0.0.1:{unused.getsockname()[1]}")
        remote = S3("s3://homes/ann", s3_stores.ACCOUNT, place)

        with pytest.raises(RemoteUnreachable, match="nothing listens there"):
            remote.list()
        with pytest.raises(RemoteUnreachable):
            remote.put("note.md", b"x", expected=None)

    assert remote.traffic.requests == 2


def test_a_store_that_sends_a_byte_now_and_then_meets_the_deadline() -> None:
    def slowly(_: str) -> list[bytes]:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"
        return [head, *(b"x" for _ in range(999))]

    with wire(slowly, pause=0.05) as server:
        remote = S3("s3://homes/ann", s3_stores.ACCOUNT, S3Place(server.origin), deadline=0.5)
        began = time.monotonic()
        with pytest.raises(NotUnderstood, match=r"within 0\.5 s"):
            remote.list()
        remote.close()

    assert time.monotonic() - began < 40, "the whole answer takes 50 s"


@pytest.mark.scenario("H121")
def test_an_endless_answer_is_not_read_into_memory() -> None:
    page = answer(200, b"", "Content-Type: application/xml", length=2**40)
    with wire(page) as server:
        remote = S3("s3://homes/ann", s3_stores.ACCOUNT, S3Place(server.origin))
        with pytest.raises(NotUnderstood, match="longer than"):
            remote.list()
        with pytest.raises(NotUnderstood, match="longer than 10 bytes"):
            remote.get("note.md", max_bytes=10)
        remote.close()


@pytest.mark.scenario("H126")
def test_a_hostile_code_does_not_reach_the_message(moto: S3Store) -> None:
    with S3Proxy(moto.endpoint) as proxy:
        proxy.script.add(refusal(418, "\x1b[31mrun this"), "PUT")

        with pytest.raises(Refused) as raised:
            through(proxy, moto.new_home()).put("note.md", b"x", expected=None)

    assert "run this" not in raised.value.message


def test_missing_keys_are_a_login_error(monkeypatch: pytest.MonkeyPatch, moto: S3Store) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    place = replace(moto.place, region="eu-central-1")
    remote = S3(moto.new_home(), Account(), place)

    with pytest.raises(Unauthorised, match="no usable AWS keys"):
        remote.list()

    assert remote.traffic.requests == 0


def test_rotated_keys_that_boto_finds_are_used_after_a_refusal(
    monkeypatch: pytest.MonkeyPatch, seaweed: S3Store, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    remote = S3(seaweed.new_home(), Account(), seaweed.place)

    def rotate(secret: str) -> None:
        file.write_text(
            f"[default]\naws_access_key_id={s3_stores.KEY_ID}\naws_secret_access_key={secret}\n"
        )

    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Unauthorised, match="no usable AWS keys"):
        remote.list()
    rotate("expired")
    with pytest.raises(Unauthorised, match="refuses these keys"):
        remote.list()
    rotate(s3_stores.SECRET)

    assert remote.list().folder.is_folder


# --- Addresses ---


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("url", "bucket", "root", "shown"),
    [
        ("s3://homes", "homes", "", "s3://homes"),
        ("s3://homes/", "homes", "", "s3://homes"),
        ("s3://homes/ann/", "homes", "ann/", "s3://homes/ann"),
        ("s3://homes/a%20b/c", "homes", "a b/c/", "s3://homes/a%20b/c"),
        ("s3://homes/ü", "homes", "ü/", "s3://homes/%C3%BC"),
    ],
)
def test_an_address_is_a_bucket_and_a_folder(url: str, bucket: str, root: str, shown: str) -> None:
    address = s3_address(url)

    assert (address.bucket, address.root, address.url) == (bucket, root, shown)


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3://x",
        "s3:///ann",
        "s3://key:secret@homes/ann",
        "s3://homes/ann?versionId=1",
        "s3://homes/ann#x",
        "s3://homes/../other",
        "s3://homes/a//b",
        "s3://homes/%00",
        "https://homes/ann",
    ],
)
def test_a_bad_address_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        s3_address(url)

    assert "secret" not in f"{raised.value} {raised.value.hint}"


def test_remotes_of_one_server_share_its_connections(moto: S3Store) -> None:
    first, second = moto.open(moto.new_home()), moto.open(moto.new_home())
    first.list()
    second.list()

    first.close()

    assert second.list().folder.is_folder
    second.close()
    assert second.list().folder.is_folder
    second.close()
