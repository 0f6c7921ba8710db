"""Programs that write to the same notes without asking whether anybody else has: what must not get lost to them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.remote.servers.faults import Answer, LoseAnswer, Meanwhile
from tests.sync.clouded import bulk_upload
from tests.sync.test_scenarios_servers import TEXT, Cloud, noted

BLACK = f"{TEXT}- black\n"


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


def lines(raw: bytes) -> list[str]:
    return raw.decode().splitlines()


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [0, 3, 61, 300])
@pytest.mark.parametrize("typed_since", [True, False])
def test_an_uploaded_line_survives_a_client_that_had_not_read_it(
    cloud: Cloud, seconds: float, typed_since: bool
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(seconds)
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}- its\n".encode())
    if typed_since:
        cloud.laptop.save("USER.md", f"{TEXT}- mine\n- more\n")

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    more = ["- more"] if typed_since else []
    assert sorted(lines(cloud.together()["USER.md"])) == sorted(
        [*TEXT.splitlines(), "- its", "- mine", *more]
    )


@pytest.mark.parametrize("typed_since", [True, False])
def test_a_local_note_survives_a_client_that_created_one_of_the_same_name(
    cloud: Cloud, typed_since: bool
):
    cloud.agreed()
    cloud.laptop.save("day.md", "## Tea\n\n- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "day.md", b"## Tea\n\n- its\n")
    if typed_since:
        cloud.laptop.save("day.md", "## Tea\n\n- mine\n- more\n")

    cloud.laptop.run_pass()

    more = ["- more"] if typed_since else []
    expected = ["", "## Tea", "- its", "- mine", *more]
    assert sorted(lines(cloud.together()["day.md"])) == expected


def test_an_uploaded_record_survives_a_client_that_had_not_read_it(cloud: Cloud):
    cloud.laptop.save("log.jsonl", '{"id": "1"}\n')
    cloud.agreed()
    cloud.laptop.save("log.jsonl", '{"id": "1"}\n{"id": "2"}\n')
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "log.jsonl", b'{"id": "1"}\n{"id": "3"}\n')

    cloud.laptop.run_pass()

    assert sorted(lines(cloud.together()["log.jsonl"])) == [
        '{"id": "1"}',
        '{"id": "2"}',
        '{"id": "3"}',
    ]


def test_a_line_removed_elsewhere_after_a_while_stays_removed(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- milk\n")
    cloud.laptop.run_pass()
    for _ in range(5):
        cloud.clock.pass_by(15)
        cloud.laptop.run_pass()
    cloud.fake.other_client_put("USER.md", f"{TEXT}- call Bob\n".encode())

    cloud.laptop.run_pass()

    assert cloud.together()["USER.md"] == f"{TEXT}- call Bob\n".encode()


def test_a_line_removed_elsewhere_while_this_device_slept_stays_removed(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- milk\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(15)
    cloud.laptop.run_pass()
    cloud.clock.pass_by(8 * 3600)
    cloud.fake.other_client_put("USER.md", f"{TEXT}- call Bob\n".encode())
    cloud.clock.pass_by(3600)

    cloud.laptop.run_pass()

    assert cloud.together()["USER.md"] == f"{TEXT}- call Bob\n".encode()


def add_overlapping_upload(cloud: Cloud, path: str, raw: bytes, seconds: float) -> None:
    """Another upload passes the precondition together with our next one, and is stored just before it."""

    def other_first() -> None:
        bulk_upload(cloud.fake, path, raw)
        cloud.clock.pass_by(seconds)

    cloud.fake.race_next_put(other_first)


@pytest.mark.sampled
@pytest.mark.scenario("E102")
@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize("seconds", [0, 1, 3])
def test_two_uploads_that_pass_the_same_precondition_are_both_kept(
    cloud: Cloud, seconds: float, ask: bool
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    add_overlapping_upload(cloud, "USER.md", f"{TEXT}- its\n".encode(), seconds)

    report = cloud.laptop.run_pass(ask=ask)

    assert noted(report, "USER.md")
    assert sorted(lines(cloud.together()["USER.md"])) == sorted(
        [*TEXT.splitlines(), "- its", "- mine"]
    )


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [0, 1, 3])
def test_a_merge_does_not_overwrite_an_upload_that_passed_the_same_precondition(
    cloud: Cloud, seconds: float
):
    cloud.agreed()
    bulk_upload(cloud.fake, "USER.md", f"- seen\n{TEXT}".encode())
    cloud.clock.pass_by(10)
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    add_overlapping_upload(cloud, "USER.md", f"- seen\n{TEXT}- its\n".encode(), seconds)

    cloud.laptop.run_pass()

    assert {"- seen", "- its", "- mine"} <= set(lines(cloud.together()["USER.md"]))


@pytest.mark.parametrize("path", ["USER.md", "log.jsonl"])
def test_a_text_read_before_a_failed_version_check_survives_its_pruning(cloud: Cloud, path: str):
    texts = {"USER.md": TEXT, "log.jsonl": '{"id": "0"}\n'}
    for name, text in texts.items():
        cloud.laptop.save(name, text)
    cloud.agreed(tea="- tea\n")
    added = {"USER.md": "- {}\n", "log.jsonl": '{{"id": "{}"}}\n'}[path]
    cloud.laptop.save(path, texts[path] + added.format("mine"))

    def others_first() -> None:
        for who in ("first", "second"):
            bulk_upload(cloud.fake, path, (texts[path] + added.format(who)).encode())
            cloud.clock.pass_by(2)

    cloud.fake.race_next_put(others_first)
    cloud.script.add(Answer(503), "GET", "/versions/", skip=1)
    cloud.laptop.run_pass()
    file = cloud.fake.tree.file(path)
    read = next(moment for moment, raw in file.versions.items() if b"second" in raw)
    del file.versions[read]

    text = cloud.together()[path].decode()
    assert all(added.format(who) in text for who in ("mine", "first", "second"))


def test_a_new_note_does_not_overwrite_one_created_at_the_same_moment(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("day.md", "- mine\n")
    add_overlapping_upload(cloud, "day.md", b"- its\n", 1)

    cloud.laptop.run_pass()

    assert sorted(lines(cloud.together()["day.md"])) == ["- its", "- mine"]


@pytest.mark.sampled
@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize("edited", [True, False])
def test_a_text_with_the_same_length_time_and_tag_is_noticed(cloud: Cloud, edited: bool, ask: bool):
    cloud.agreed()
    second = int(cloud.clock.seconds())
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}- black\n".encode(), mtime=second)
    cloud.clock.pass_by(60)
    cloud.laptop.run_pass()
    cloud.clock.pass_by(60)
    cloud.laptop.run_pass()
    tag = cloud.fake.tree.file("USER.md").etag
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}- white\n".encode(), mtime=second)
    assert cloud.fake.tree.file("USER.md").etag == tag
    if edited:
        cloud.laptop.save("USER.md", f"- mine\n{TEXT}- black\n")

    cloud.clock.pass_by(15)
    cloud.laptop.run_pass(ask=ask)

    assert {"- green", "- white", *(["- mine"] if edited else [])} <= set(
        lines(cloud.together()["USER.md"])
    )


def test_our_line_survives_a_text_stored_under_the_tag_of_our_upload(cloud: Cloud):
    cloud.agreed()
    cloud.clock.pass_by(15)
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    file = cloud.fake.tree.file("USER.md")
    tag = file.etag
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}- its!\n".encode(), mtime=file.mtime)
    assert cloud.fake.tree.file("USER.md").etag == tag

    for _ in range(3):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its!"} <= set(lines(cloud.together()["USER.md"]))


def test_our_line_in_a_renamed_note_survives_a_client_that_had_not_read_it(cloud: Cloud):
    cloud.agreed()
    cloud.clock.pass_by(15)
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}- its\n".encode())
    cloud.fake.tree.move("USER.md", "ann.md")

    for _ in range(3):
        cloud.clock.pass_by(3)
        cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= set(lines(cloud.together()["ann.md"]))


@pytest.mark.sampled
@pytest.mark.parametrize("typed_since", [True, False])
@pytest.mark.parametrize("at", [0, 5, len(TEXT), len(TEXT) + 3])
def test_an_upload_truncated_by_the_server_is_sent_again(cloud: Cloud, at: int, typed_since: bool):
    cloud.agreed()
    whole = f"{BLACK}- mine\n"
    cloud.laptop.save("USER.md", whole)
    cloud.fake.cut_next_put_short_at(at)
    cloud.laptop.run_pass()
    if typed_since:
        whole = f"- more\n{whole}"
        cloud.laptop.save("USER.md", whole)

    for _ in range(4):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()
        assert cloud.laptop.text("USER.md") == whole

    assert cloud.together()["USER.md"] == whole.encode()


@pytest.mark.parametrize("answered", [True, False])
def test_an_edit_of_a_truncated_upload_removes_nothing_of_its_missing_part(
    cloud: Cloud, answered: bool
):
    cloud.agreed(USER=f"{BLACK}- white\n")
    cloud.laptop.save("USER.md", f"{BLACK}- white\n- mine\n")
    cloud.fake.cut_next_put_short_at(len(TEXT))

    def add_line() -> None:
        cloud.fake.other_client_put("USER.md", f"- its\n{TEXT}".encode())

    cloud.script.add(Meanwhile(add_line, after=True) if answered else LoseAnswer(), "PUT")
    cloud.laptop.run_pass()
    if not answered:
        add_line()

    cloud.clock.pass_by(5)
    cloud.laptop.run_pass()

    assert {"- its", "- green", "- black", "- white", "- mine"} <= set(
        lines(cloud.together()["USER.md"])
    )


def test_a_line_under_a_new_heading_survives_a_client_that_creates_the_same_heading(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}\n## Boats\n- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "USER.md", f"{TEXT}\n## Boats\n- its\n".encode())

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= set(lines(cloud.together()["USER.md"]))


@pytest.mark.parametrize("seconds", [30, 61])
def test_an_upload_survives_a_text_of_the_same_length_and_time_discovered_late(
    cloud: Cloud, seconds: float
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    uploaded = cloud.fake.tree.file("USER.md")
    tag, second = uploaded.etag, uploaded.mtime
    bulk_upload(cloud.fake, "USER.md", f"- itss\n{TEXT}".encode(), mtime=second)
    assert cloud.fake.tree.file("USER.md").etag == tag

    cloud.clock.pass_by(seconds)
    cloud.laptop.run_pass()

    assert {"- itss", "- green", "- mine"} <= set(lines(cloud.together()["USER.md"]))


def test_a_server_that_truncates_every_upload_is_reported_and_costs_no_local_line(cloud: Cloud):
    cloud.agreed()
    whole = f"{BLACK}- mine\n"
    cloud.laptop.save("USER.md", whole)
    cloud.fake.cut_next_put_short_at(9, times=100)
    failed: dict[str, str] = {}
    for _ in range(8):
        cloud.clock.pass_by(61)
        failed |= dict(cloud.laptop.run_pass().failed)
        assert cloud.laptop.text("USER.md") == whole

    assert "only the first 9 of" in failed["USER.md"]
    cloud.fake._short_puts = 0
    assert cloud.together()["USER.md"] == whole.encode()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shorter",
    [TEXT.encode(), b"## Tea\n", f"{TEXT}- black\n".encode(), b"# T\n"],
    ids=["last", "most", "some", "new"],
)
def test_lines_removed_at_the_end_elsewhere_are_removed_here_by_the_next_pass(
    cloud: Cloud, shorter: bytes
):
    cloud.laptop.save("USER.md", f"{BLACK}- white\n- red\n")
    cloud.agreed(tea="- tea\n")
    cloud.phone.save("USER.md", shorter)
    cloud.phone.run_pass()
    cloud.fake.log.clear()

    cloud.clock.pass_by(5)
    cloud.laptop.run_pass()

    assert cloud.laptop.files()["USER.md"] == shorter
    of_note, of_versions = (
        [seen for seen in cloud.fake.requests("GET") if place in seen.path]
        for place in ("/files/", "/versions/")
    )
    assert len(of_note) == 1
    assert len(of_versions) <= 1  # whether the phone has read our text


def test_a_text_that_ends_mid_line_is_downloaded_once_while_waiting_for_the_rest(cloud: Cloud):
    cloud.laptop.save("USER.md", f"{BLACK}- white\n- red\n")
    cloud.agreed(tea="- tea\n")
    cloud.fake.other_client_put("USER.md", f"{BLACK}- whi".encode())
    cloud.clock.pass_by(3)

    for _ in range(10):
        cloud.clock.pass_by(3)
        cloud.laptop.run_pass()
        assert cloud.laptop.text("USER.md") == f"{BLACK}- white\n- red\n"

    assert len(cloud.fake.requests("GET")) == 1


@pytest.mark.sampled
@pytest.mark.parametrize("skew", [0, 1, 2, 5, 30, 3600, 2_000_000_000])
@pytest.mark.parametrize("change", ["theirs", "mine", "both", "delete", "rename"])
def test_a_time_in_the_future_costs_no_extra_requests(cloud: Cloud, skew: int, change: str):
    cloud.agreed()
    user = cloud.laptop.vault / "USER.md"
    later = int(cloud.clock.seconds()) + skew
    if change == "both":
        cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    cloud.fake.other_client_put("USER.md", BLACK.encode(), mtime=later)
    requests = until_quiet(cloud)
    match change:
        case "mine":
            cloud.laptop.save("USER.md", f"{BLACK}- mine\n")
        case "delete":
            user.unlink()
        case "rename":
            user.rename(user.with_name("ann.md"))
    requests += until_quiet(cloud)

    assert requests <= 24
    assert cloud.laptop.files() == cloud.fake.files()


@pytest.mark.sampled
@pytest.mark.parametrize("skew", [0, 1, 30])
def test_a_time_in_the_future_does_not_make_every_pass_list_all_folders(cloud: Cloud, skew: int):
    for number in range(40):
        cloud.laptop.save(f"folder{number}/note.md", f"- note {number}\n")
    cloud.agreed()
    # A Nextcloud as it is installed lists one folder a request, not a whole tree.
    cloud.laptop.remote.traits = replace(cloud.laptop.remote.traits, infinity=False)
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    cloud.fake.other_client_put("USER.md", BLACK.encode(), mtime=int(cloud.clock.seconds()) + skew)
    requests = []
    for _ in range(12):
        cloud.clock.pass_by(0.34)
        requests.append(cloud.laptop.run_pass().requests)

    assert max(requests) <= 8
    assert sum(requests) <= 36
    assert cloud.laptop.files() == cloud.fake.files()


def until_quiet(cloud: Cloud, passes: int = 40) -> int:
    """Requests of the passes that `sync --once` makes, a third of a second apart."""
    requests = 0
    for _ in range(passes):
        cloud.clock.pass_by(0.34)
        report = cloud.laptop.run_pass()
        requests += report.requests
        if report.quiet:
            return requests
    raise AssertionError(report)


def test_an_edit_without_a_concurrent_write_costs_three_requests(cloud: Cloud):
    cloud.agreed()
    cloud.clock.pass_by(15)
    cloud.laptop.run_pass()
    for number in range(3):
        cloud.clock.pass_by(15)
        cloud.laptop.save("USER.md", cloud.laptop.text("USER.md") + f"- mine{number}\n")
        report = cloud.laptop.run_pass()
        assert (report.uploaded, report.requests) == (1, 3)


WRITES: dict[str, Callable[[Cloud], None]] = {
    "same second": lambda cloud: bulk_upload(cloud.fake, "USER.md", f"{BLACK}- its\n".encode()),
    "later": lambda cloud: (
        cloud.clock.pass_by(5),
        bulk_upload(cloud.fake, "USER.md", f"{BLACK}- its\n".encode()),
    )[1],
}


@pytest.mark.parametrize("when", list(WRITES))
def test_a_write_between_our_listing_and_our_upload_is_not_lost(cloud: Cloud, when: str):
    cloud.agreed(USER=BLACK)
    cloud.laptop.save("USER.md", f"- mine\n{BLACK}")
    cloud.script.add(Meanwhile(lambda: WRITES[when](cloud)), "PUT")

    cloud.laptop.run_pass()

    assert {"- mine", "- black", "- its"} <= set(lines(cloud.together()["USER.md"]))
