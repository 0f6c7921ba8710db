"""What a store of S3 and the line to it do to a pass, by the numbers of the scenarios."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.addons.s3.conftest import StoreNamed
from tests.effort import some
from tests.remote.servers import s3_stores
from tests.remote.servers.faults import (
    LOGIN_WITH_200,
    NOT_FOUND,
    TOO_MANY,
    UNAVAILABLE,
    Answer,
    CutRequest,
    CutResponse,
    Delay,
    Duplicate,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    Rewrite,
    replaced,
)
from tests.remote.servers.s3_proxy import S3Proxy
from tests.remote.servers.s3_stores import S3Store
from tests.sync.devices import Clock, Device
from vault_memory.addons.s3.s3_client import S3Place
from vault_memory.addons.s3.s3_remote import S3
from vault_memory.errors import VaultMemoryError
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.plan.safety_limits import OLDER

TEXT = "## Tea\n\n- green\n"
INTERNAL = Answer(
    500,
    {"Content-Type": "application/xml"},
    b"<Error><Code>InternalError</Code><Message>no</Message></Error>",
)
DAMAGED = Answer(
    400,
    {"Content-Type": "application/xml"},
    b"<Error><Code>XAmzContentSHA256Mismatch</Code><Message>no</Message></Error>",
)


class Bucket:
    """A store, a laptop that syncs with it over a line of its own, and a phone on a good one."""

    def __init__(self, base: Path, store: S3Store, proxy: S3Proxy) -> None:
        self.base, self.store, self.proxy = base, store, proxy
        self.clock, self.script = Clock(), proxy.script
        self.url = store.new_home()
        place = S3Place(proxy.url, "us-east-1")
        line = S3(self.url, s3_stores.ACCOUNT, place, deadline=10)
        self.direct = store.open(self.url)
        self.laptop = Device(base, "laptop", line, self.clock)
        self.phone = Device(base, "phone", store.open(self.url), self.clock)

    def agree(self, **texts: str) -> None:
        """Let both devices and the store hold these."""
        for name, text in (texts or {"USER": TEXT, "tea": "- tea\n"}).items():
            self.laptop.save(f"{name}.md", text)
        self.laptop.settle((self.phone,))
        self.clock.pass_by(60)
        self.proxy.log.clear()

    def run_pass(self, **options: bool) -> PassReport | None:
        """A pass of the laptop; None when it stopped with an error."""
        self.clock.pass_by(61)
        try:
            return self.laptop.run_pass(**options)
        except VaultMemoryError:
            return None

    def files(self) -> dict[str, bytes]:
        """The notes in the bucket."""
        return {
            entry.path: self.direct.get(entry.path, max_bytes=9999).raw
            for entry in self.direct.list(deep=True).entries
            if not entry.is_folder
        }

    def write(self, path: str, text: str) -> None:
        """Another client writes to the bucket."""
        etags = {entry.path: entry.etag for entry in self.direct.list(deep=True).entries}
        self.direct.put(path, text.encode(), expected=etags.get(path))

    def erase(self, *, markers: bool) -> None:
        """Delete the keys of the home, with the markers of folders or without."""
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        boto = self.store.boto()
        listed = boto.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")
        for item in listed["Contents"]:
            if markers or not item["Key"].endswith("/"):
                boto.delete_object(Bucket=bucket, Key=item["Key"])

    def converge(self) -> dict[str, bytes]:
        """What all of them hold in the end."""
        self.script.clear()
        self.laptop.settle((self.phone,), passes=20)
        assert self.laptop.files() == self.phone.files() == self.files()
        return self.laptop.files()


@pytest.fixture(params=s3_stores.usual())
def bucket(
    request: pytest.FixtureRequest, base: Path, s3_store_named: StoreNamed
) -> Iterator[Bucket]:
    store = s3_store_named(request.param)
    with S3Proxy(store.endpoint) as proxy:
        yield Bucket(base, store, proxy)


# --- Uploads ---


@pytest.mark.sampled
@pytest.mark.scenario("E103")
@pytest.mark.parametrize(
    "fault",
    [LoseAnswer(), LoseRequest(), Duplicate(), INTERNAL, UNAVAILABLE, TOO_MANY, DAMAGED],
    ids=lambda fault: f"{type(fault).__name__}{getattr(fault, 'status', '')}",
)
@pytest.mark.parametrize("path", ["USER.md", "new.md"])
def test_an_upload_of_unknown_outcome_is_neither_lost_nor_copied(
    bucket: Bucket, fault: Answer, path: str
) -> None:
    bucket.agree()
    bucket.laptop.save(path, TEXT + "- black\n")
    bucket.script.add(fault, "PUT")

    bucket.run_pass()
    assert bucket.script.happened
    files = bucket.converge()

    assert files[path].decode() == TEXT + "- black\n"
    assert files.keys() == {"USER.md", "tea.md", path}


@pytest.mark.sampled
@pytest.mark.scenario("E103")
@pytest.mark.parametrize("where", [CutRequest, CutResponse])
def test_a_connection_lost_at_any_byte_loses_nothing(
    bucket: Bucket, where: type[CutRequest] | type[CutResponse]
) -> None:
    bucket.agree()
    places = some([0, 40, 300, 500, 700, 900, -90, -60, -30, -16, -8, -4, -2, -1])
    for number, place in enumerate(places):
        edited = bucket.laptop.text("USER.md") + f"- mine{number}\n"
        bucket.laptop.save("USER.md", edited)
        bucket.script.add(where(place), "PUT")
        bucket.run_pass()
        bucket.write("tea.md", bucket.files()["tea.md"].decode() + f"- its{number}\n")
        bucket.script.add(where(place), "GET", "tea.md")
        bucket.run_pass()

    files = bucket.converge()

    lines = b"".join(files.values()).decode().splitlines()
    expected = {f"- {who}{number}" for who in ("mine", "its") for number in range(len(places))}
    assert expected <= set(lines)
    assert files.keys() == {"USER.md", "tea.md"}


@pytest.mark.scenario("E85")
def test_an_edit_by_another_device_during_a_pass_is_merged_after_the_412(bucket: Bucket) -> None:
    bucket.agree()
    bucket.laptop.save("USER.md", TEXT + "- black\n")
    bucket.script.add(
        Meanwhile(lambda: bucket.write("USER.md", "## Tea\n\n- white\n- green\n")), "PUT"
    )

    bucket.run_pass()
    assert bucket.script.happened

    lines = bucket.converge()["USER.md"].decode().splitlines()
    assert {"- black", "- white", "- green"} <= set(lines)


def test_a_note_deleted_elsewhere_during_an_upload_comes_back_with_the_edit(bucket: Bucket) -> None:
    bucket.agree()
    bucket.laptop.save("tea.md", "- tea\n- black\n")

    def delete() -> None:
        bucket.direct.delete("tea.md", expected=bucket.direct.look("tea.md").etag)

    bucket.script.add(Meanwhile(delete), "PUT")
    bucket.run_pass()
    assert bucket.script.happened

    assert bucket.converge()["tea.md"] == b"- tea\n- black\n"


def test_a_new_note_of_the_same_name_on_both_sides_keeps_both_texts(bucket: Bucket) -> None:
    bucket.agree()
    bucket.laptop.save("new.md", "- laptop\n")
    bucket.script.add(Meanwhile(lambda: bucket.write("new.md", "- web\n")), "PUT")

    bucket.run_pass()
    assert bucket.script.happened

    texts = b"".join(bucket.converge().values()).decode().splitlines()
    assert {"- laptop", "- web"} <= set(texts)


def test_a_late_answer_repeats_nothing(bucket: Bucket) -> None:
    bucket.agree()
    bucket.laptop.save("new.md", "- new\n")
    bucket.script.add(Delay(1.0), "PUT")

    bucket.run_pass()
    bucket.converge()

    assert len([write for write in bucket.proxy.writes if "new.md" in write]) == 1


# --- Moves ---


@pytest.mark.sampled
@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), UNAVAILABLE])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_interrupted_move_ends_with_one_note(bucket: Bucket, method: str, fault: Answer) -> None:
    bucket.agree()
    (bucket.laptop.vault / "tea.md").rename(bucket.laptop.vault / "boats.md")
    bucket.script.add(fault, method)

    bucket.run_pass()

    assert bucket.script.happened
    files = bucket.converge()
    assert files["boats.md"] == b"- tea\n"
    assert files.keys() == {"USER.md", "boats.md"}


def test_a_note_edited_elsewhere_while_it_is_moved_keeps_the_edit(bucket: Bucket) -> None:
    bucket.agree()
    (bucket.laptop.vault / "tea.md").rename(bucket.laptop.vault / "boats.md")
    bucket.script.add(Meanwhile(lambda: bucket.write("tea.md", "- tea\n- more\n")), "DELETE")

    bucket.run_pass()
    assert bucket.script.happened

    assert "- more" in b"".join(bucket.converge().values()).decode()


# --- Listings and homes ---


@pytest.mark.sampled
@pytest.mark.scenario("E86", "E87")
@pytest.mark.parametrize(
    "fault",
    [
        LOGIN_WITH_200,
        NOT_FOUND,
        INTERNAL,
        UNAVAILABLE,
        CutResponse(-40),
        Rewrite(lambda answer: replaced(b"tea.md", b"").change(answer)),
    ],
    ids=["login", "404", "500", "503", "cut", "no name"],
)
def test_a_listing_that_is_wrong_deletes_nothing(bucket: Bucket, fault: Answer) -> None:
    bucket.agree()
    before = bucket.laptop.files()
    bucket.script.add(fault, "GET", "list-type", times=4)

    for _ in range(4):
        bucket.run_pass()

    assert len(bucket.script.happened) == 4
    assert bucket.laptop.files() == before
    assert bucket.converge() == before


@pytest.mark.sampled
@pytest.mark.scenario("E95")
@pytest.mark.parametrize("markers", [True, False], ids=["all keys", "all notes"])
@pytest.mark.parametrize("number", [1, 3, 15])
def test_an_emptied_bucket_deletes_nothing_here(bucket: Bucket, number: int, markers: bool) -> None:
    bucket.agree(**{f"note{index}": f"- {index}\n" for index in range(number)})
    before = bucket.laptop.files()
    bucket.erase(markers=markers)

    for _ in range(4):
        bucket.run_pass()

    assert bucket.laptop.files() == before


@pytest.mark.scenario("E95")
def test_a_home_replaced_by_another_with_other_notes_deletes_nothing_here(bucket: Bucket) -> None:
    bucket.agree(**{f"note{index}": f"- {index}\n" for index in range(5)})
    before = bucket.laptop.files()
    bucket.erase(markers=True)
    for index in range(5):
        bucket.direct.put(f"foreign{index}.md", b"- foreign\n", expected=None)

    for _ in range(4):
        bucket.run_pass()

    assert before.items() <= bucket.laptop.files().items()


@pytest.mark.sampled
@pytest.mark.scenario("E95")
@pytest.mark.parametrize("store_name", s3_stores.NAMES)
def test_another_folder_under_the_same_state_deletes_and_writes_nothing(
    base: Path, s3_store_named: StoreNamed, store_name: str
) -> None:
    store = s3_store_named(store_name)
    with S3Proxy(store.endpoint) as proxy:
        bucket = Bucket(base, store, proxy)
        bucket.agree()
        before = bucket.laptop.files()
        other = store.new_home()
        bucket.laptop.stop()
        bucket.laptop.remote = store.open(other)
        bucket.laptop.start()

        for _ in range(3):
            report = bucket.run_pass()

    assert bucket.laptop.files() == before
    assert report is not None
    assert "another" in report.halted
    assert store.open(other).list(deep=True).entries == ()


@pytest.mark.scenario("E94")
def test_a_bucket_restored_to_earlier_versions_takes_no_edit_back(bucket: Bucket) -> None:
    names = [f"note{index}" for index in range(5)]
    bucket.agree(**{name: f"# {name}\n\n- first\n" for name in names})
    backup = bucket.files()
    for name in names[:4]:
        bucket.phone.save(f"{name}.md", f"# {name}\n\n- first\n- later\n")
    bucket.phone.save("new.md", "- new\n")
    bucket.laptop.settle((bucket.phone,))
    expected = bucket.laptop.files()
    for path, raw in backup.items():
        bucket.write(path, raw.decode())
    bucket.direct.delete("new.md", expected=bucket.direct.look("new.md").etag)

    for _ in range(4):
        report = bucket.run_pass()

    assert bucket.laptop.files() == expected
    assert report is not None
    held = dict(report.held)
    assert {f"{name}.md" for name in names[:4]} <= held.keys()
    assert all(reason.endswith(OLDER) for reason in held.values())


@pytest.mark.sampled
@pytest.mark.parametrize("off", [-86_400, -3600, 3600, 86_400])
def test_a_device_with_a_wrong_clock_loses_nothing(bucket: Bucket, off: float) -> None:
    bucket.clock.pass_by(off)
    bucket.agree()
    bucket.laptop.save("USER.md", TEXT + "- black\n")
    bucket.phone.save("USER.md", "## Tea\n\n- white\n- green\n")

    lines = bucket.converge()["USER.md"].decode().splitlines()

    assert {"- black", "- white", "- green"} <= set(lines)
