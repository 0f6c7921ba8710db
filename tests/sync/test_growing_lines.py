"""A line that its author saves again and again while it grows: only the last form of it stands, on all sides."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remote.servers.faults import UNAVAILABLE, LoseAnswer, Meanwhile
from tests.sync.clouded import bulk_upload
from tests.sync.test_scenarios_servers import TEXT, Cloud

FORMS: dict[str, tuple[str, ...]] = {
    "grows by words": ("- buy milk\n", "- buy milk and eggs\n", "- buy milk and eggs on Monday\n"),
    "is saved in the middle of a word": ("- buy mi\n", "- buy milk an\n", "- buy milk and eggs\n"),
    "shrinks": ("- buy milk and eggs\n", "- buy milk\n", "- buy\n"),
    "becomes another": ("- buy milk\n", "- call Anna\n", "- swim\n"),
    "is removed": ("- buy milk\n", "- buy milk and eggs\n", ""),
    "is ticked": ("- [ ] buy milk\n", "- [ ] buy milk and eggs\n", "- [x] buy milk and eggs\n"),
    "moves": ("- buy milk\n- swim\n", "- swim\n- buy milk\n", "- swim\n- buy milk today\n"),
    "is a paragraph": ("Dear\n", "Dear Anna\n", "Dear Anna, see you on Monday.\n"),
    "is a heading": ("## Bo\n", "## Boats\n", "## Boats and ships\n"),
    "is in a table": (
        "| a | b |\n| - | - |\n| tea | 1 |\n",
        "| a | b |\n| - | - |\n| tea | 12 |\n",
        "| a | b |\n| - | - |\n| tea | 123 |\n",
    ),
    "is Japanese": ("- 牛乳\n", "- 牛乳を買う\n", "- 牛乳と卵を買う\n"),
}
"""The last line of a note, as its author saves it"""


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


def saved_on_a_page(cloud: Cloud, text: str) -> None:
    """Nextcloud Text, Notes or a phone: it has read the server's text, and its upload says so."""
    cloud.fake.other_client_put("USER.md", text.encode())


def saved_in_bulk(cloud: Cloud, text: str) -> None:
    """A desktop client, which sends no precondition."""
    bulk_upload(cloud.fake, "USER.md", text.encode())


WRITERS: dict[str, Callable[[Cloud, str], None]] = {"page": saved_on_a_page, "bulk": saved_in_bulk}


def both_pass(cloud: Cloud, seconds: float) -> None:
    """Time passes, and both devices look at the server every few seconds of it."""
    for _ in range(2):
        cloud.clock.pass_by(seconds / 2)
        cloud.laptop.run_pass()
        cloud.phone.run_pass()


@pytest.mark.sampled
@pytest.mark.parametrize("writer", list(WRITERS))
@pytest.mark.parametrize("seconds", [2, 6, 30, 200])
@pytest.mark.parametrize("kind", list(FORMS))
def test_only_the_last_form_of_a_line_stands_that_its_author_saves_several_times(
    cloud: Cloud, kind: str, seconds: float, writer: str
):
    cloud.agreed()
    for form in FORMS[kind]:
        WRITERS[writer](cloud, TEXT + form)
        both_pass(cloud, seconds)

    assert cloud.together()["USER.md"].decode() == TEXT + FORMS[kind][-1]


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [2, 6, 30])
@pytest.mark.parametrize("kind", list(FORMS))
def test_only_the_last_form_stands_beside_a_line_that_this_device_adds_meanwhile(
    cloud: Cloud, kind: str, seconds: float
):
    first, second, third = FORMS[kind]
    cloud.agreed()
    saved_on_a_page(cloud, TEXT + first)
    both_pass(cloud, seconds)
    cloud.laptop.save("USER.md", f"## Tea\n\n- mine\n- green\n{first}")
    both_pass(cloud, seconds)
    for form in (second, third):
        saved_on_a_page(cloud, f"## Tea\n\n- mine\n- green\n{form}")
        both_pass(cloud, seconds)

    expected = f"## Tea\n\n- mine\n- green\n{third}"
    assert cloud.together()["USER.md"].decode() == expected


GROWING = ["grows by words", "shrinks", "becomes another", "is ticked"]


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [2, 6, 30])
@pytest.mark.parametrize(
    "kind", ["grows by words", "is saved in the middle of a word", "is ticked"]
)
def test_a_line_that_this_device_uploaded_grows_elsewhere_and_stands_once(
    cloud: Cloud, kind: str, seconds: float
):
    cloud.agreed()
    first, *others = FORMS[kind]
    cloud.laptop.save("USER.md", TEXT + first)
    both_pass(cloud, seconds)
    for form in others:
        saved_on_a_page(cloud, TEXT + form)
        both_pass(cloud, seconds)

    assert cloud.together()["USER.md"].decode() == TEXT + others[-1]


@pytest.mark.parametrize("kind", ["grows by words", "is ticked"])
def test_a_line_grows_over_an_upload_that_its_author_had_not_read(cloud: Cloud, kind: str):
    cloud.agreed()
    first, second, third = FORMS[kind]
    saved_in_bulk(cloud, TEXT + first)
    both_pass(cloud, 6)
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}{first}")
    both_pass(cloud, 6)
    for form in (second, third):
        saved_in_bulk(cloud, TEXT + form)
        both_pass(cloud, 6)

    assert sorted(cloud.together()["USER.md"].decode().splitlines()) == sorted(
        ["- mine", *TEXT.splitlines(), third.strip()]
    )


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [2, 70])
@pytest.mark.parametrize("kind", list(FORMS))
@pytest.mark.parametrize("writer", list(WRITERS))
def test_a_line_grows_here_after_an_upload_without_an_answer_that_others_go_on_with(
    cloud: Cloud, writer: str, kind: str, seconds: float
):
    cloud.agreed()
    first, second, _ = FORMS[kind]
    cloud.laptop.save("USER.md", TEXT + first)
    cloud.script.add(LoseAnswer(), "PUT")
    cloud.laptop.run_pass()
    WRITERS[writer](cloud, f"- theirs\n{TEXT}{first}")
    cloud.clock.pass_by(seconds)
    cloud.laptop.save("USER.md", TEXT + second)

    assert cloud.together()["USER.md"].decode() == f"- theirs\n{TEXT}{second}"


@pytest.mark.sampled
@pytest.mark.parametrize("method", ["GET", "PUT", "PROPFIND"])
@pytest.mark.parametrize("kind", ["grows by words", "is ticked"])
def test_only_the_last_form_stands_when_a_save_meets_a_pass(cloud: Cloud, kind: str, method: str):
    cloud.agreed()
    first, second, third = FORMS[kind]
    saved_on_a_page(cloud, TEXT + first)
    both_pass(cloud, 6)
    cloud.laptop.save("USER.md", f"- mine\n{cloud.laptop.text('USER.md')}")
    cloud.script.add(Meanwhile(lambda: saved_on_a_page(cloud, TEXT + second)), method)
    both_pass(cloud, 6)
    mine = "- mine\n" if b"- mine" in cloud.fake.files()["USER.md"] else ""
    saved_on_a_page(cloud, mine + TEXT + third)
    both_pass(cloud, 6)

    assert sorted(cloud.together()["USER.md"].decode().splitlines()) == sorted(
        ["- mine", *TEXT.splitlines(), third.strip()]
    )


def test_a_line_removed_elsewhere_stays_removed_without_an_upload_of_ours(cloud: Cloud):
    cloud.agreed()
    for text in (f"{TEXT}- milk\n", TEXT, "## Tea\n\n"):
        saved_on_a_page(cloud, text)
        both_pass(cloud, 6)

    assert cloud.together()["USER.md"] == b"## Tea\n\n"


def test_a_record_that_another_program_replaces_does_not_come_back(cloud: Cloud):
    cloud.laptop.save("log.jsonl", '{"id": "1"}\n')
    cloud.agreed(tea="- tea\n")
    for text in ('{"id": "1"}\n{"id": "2"}\n', '{"id": "1"}\n{"id": "3"}\n'):
        cloud.fake.other_client_put("log.jsonl", text.encode())
        both_pass(cloud, 6)

    assert cloud.together()["log.jsonl"] == b'{"id": "1"}\n{"id": "3"}\n'


@pytest.mark.sampled
@pytest.mark.parametrize("seconds", [5, 70])
@pytest.mark.parametrize("kind", GROWING)
def test_an_earlier_form_stays_away_that_another_device_uploaded_ahead_of_the_clock(
    cloud: Cloud, kind: str, seconds: float
):
    first, _, third = FORMS[kind]
    cloud.agreed()
    cloud.phone.remote._lag = 7  # its text gets a time that is still to come
    saved_on_a_page(cloud, TEXT + first)
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"- mine\n{TEXT}{first}")
    cloud.phone.run_pass()
    cloud.clock.pass_by(2)
    saved_on_a_page(cloud, f"- mine\n{TEXT}{third}")
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    cloud.clock.pass_by(seconds)
    cloud.laptop.save("USER.md", f"- mine\n- more\n{TEXT}{third}")
    cloud.laptop.run_pass()

    assert sorted(cloud.together()["USER.md"].decode().splitlines()) == sorted(
        ["- mine", "- more", *TEXT.splitlines(), *third.splitlines()]
    )


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["grows by words", "shrinks", "is ticked"])
def test_a_line_that_two_devices_bring_back_stands_once_when_it_is_edited_on_one(
    cloud: Cloud, kind: str
):
    """A program that had not read the line stores its own text, and each device misses the line in that."""
    cloud.agreed()
    first, second, _ = FORMS[kind]
    cloud.laptop.save("USER.md", TEXT + first)
    cloud.laptop.run_pass()
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"{TEXT}{first}- phone\n")
    cloud.phone.run_pass()
    saved_in_bulk(cloud, f"- theirs\n{TEXT}")
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    if first in cloud.laptop.text("USER.md"):
        edited = cloud.laptop.text("USER.md").replace(first, second)
        cloud.laptop.save("USER.md", edited)
    both_pass(cloud, 6)

    lines = cloud.together()["USER.md"].decode().splitlines()
    assert sorted(lines) == sorted(
        ["- theirs", "- phone", *TEXT.splitlines(), *second.splitlines()]
    )


def test_a_line_that_loses_its_last_word_is_not_taken_for_half_an_upload(cloud: Cloud):
    cloud.agreed(USER=f"{TEXT}- buy milk and eggs\n- swim\n")
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}- buy milk and eggs\n- swim\n")
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", times=3)
    cloud.laptop.run_pass()
    saved_in_bulk(cloud, f"{TEXT}- buy milk and\n- swim\n")
    both_pass(cloud, 6)

    lines = cloud.together()["USER.md"].decode().splitlines()
    expected = ["- mine", *TEXT.splitlines(), "- buy milk and", "- swim"]
    assert sorted(lines) == sorted(expected)


def test_a_device_that_edits_a_line_had_read_the_upload_that_it_writes_over(cloud: Cloud):
    """The upload adds no line of its own, so that the edited text shows no trace of it."""
    cloud.agreed(USER=f"{TEXT}- buy milk\n- swim\n")
    cloud.laptop.save("USER.md", f"{TEXT}- buy milk\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"{TEXT}- call Anna\n")
    cloud.phone.run_pass()
    both_pass(cloud, 6)

    assert cloud.together()["USER.md"].decode() == f"{TEXT}- call Anna\n"


def test_a_device_that_overwrites_a_text_in_between_had_not_read_the_upload(cloud: Cloud):
    cloud.agreed(USER=f"{TEXT}- buy milk\n- swim\n")
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}- buy milk\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    saved_in_bulk(cloud, f"{TEXT}- buy milk\n- swim\n- theirs\n")
    cloud.clock.pass_by(3)
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"{TEXT}- buy milk\n- swim\n- theirs\n- phone\n")
    cloud.phone.run_pass()
    both_pass(cloud, 6)

    lines = cloud.together()["USER.md"].decode().splitlines()
    assert {"- mine", "- theirs", "- phone"} <= set(lines)


@pytest.mark.parametrize("by", ["device", "page"])
def test_a_line_that_somebody_shortens_again_stays_short(cloud: Cloud, by: str):
    """They had read the longer form. This device adds a line of its own at the same time."""
    cloud.agreed(USER=f"{TEXT}- buy milk\n")
    long = f"{TEXT}- buy milk and eggs\n"
    cloud.laptop.save("USER.md", long)
    both_pass(cloud, 130)
    cloud.laptop.save("USER.md", f"- mine\n{long}")
    if by == "device":
        cloud.phone.save("USER.md", f"{TEXT}- buy milk\n- phone\n")
        cloud.phone.run_pass()
    else:
        saved_on_a_page(cloud, f"{TEXT}- buy milk\n- page\n")
    both_pass(cloud, 6)

    lines = cloud.together()["USER.md"].decode().splitlines()
    assert {"- mine", "- buy milk"} <= set(lines)
    assert "- buy milk and eggs" not in lines
