"""Lines that runs of the crowd have lost, each told step by step: what everybody does until the line would be gone."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.remote.servers.faults import (
    EMPTY_200,
    NOT_FOUND,
    UNAVAILABLE,
    Answer,
    Duplicate,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
)
from tests.sync.clouded import bulk_upload
from tests.sync.test_scenarios_servers import TEXT, Cloud
from vault_memory.remote.remote_errors import RemoteError

BLACK = f"{TEXT}- black\n"


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


def lines(raw: bytes) -> set[str]:
    return set(raw.decode().splitlines())


def its(line: str = "its", *, upon: str = TEXT) -> bytes:
    """What a program uploads that has read an earlier text."""
    return f"{upon}- {line}\n".encode()


def write_over_the_laptops_line(cloud: Cloud) -> None:
    """The laptop uploads a line, and a program that has read only the text before writes over it."""
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    bulk_upload(cloud.fake, "USER.md", its())
    cloud.clock.pass_by(3)


@pytest.mark.parametrize("typed", [True, False])
def test_an_overwritten_line_survives_when_another_device_reads_the_overwriting_text(
    cloud: Cloud, typed: bool
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    cloud.phone.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "USER.md", its())
    if typed:
        cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- phone\n")

    cloud.clock.pass_by(3)
    cloud.phone.run_pass()
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its", *(["- phone"] if typed else [])} <= lines(
        cloud.together()["USER.md"]
    )


def test_an_overwritten_line_survives_when_another_device_edits_the_overwriting_text(cloud: Cloud):
    write_over_the_laptops_line(cloud)
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- phone\n")
    cloud.phone.run_pass()

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its", "- phone"} <= lines(cloud.together()["USER.md"])


def test_an_overwritten_line_survives_when_a_removal_restores_an_earlier_text(cloud: Cloud):
    write_over_the_laptops_line(cloud)
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", TEXT)
    cloud.phone.run_pass()

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- green", "- mine"} <= lines(cloud.together()["USER.md"])


def test_a_line_merged_back_in_survives_a_second_overwrite(cloud: Cloud):
    write_over_the_laptops_line(cloud)
    cloud.laptop.run_pass()
    cloud.laptop.run_pass()
    assert "- mine" in lines(cloud.fake.files()["USER.md"])
    bulk_upload(cloud.fake, "USER.md", its("its\n- more"))

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its", "- more"} <= lines(cloud.together()["USER.md"])


def test_a_merged_line_survives_a_write_during_the_upload_of_the_merge(cloud: Cloud):
    cloud.agreed()
    cloud.phone.save("USER.md", f"{TEXT}- phone\n")
    cloud.phone.run_pass()
    cloud.clock.pass_by(3)
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    cloud.script.add(Meanwhile(lambda: bulk_upload(cloud.fake, "USER.md", its())), "PUT")
    cloud.laptop.run_pass()

    for _ in range(3):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()

    assert {"- green", "- mine", "- phone", "- its"} <= lines(cloud.together()["USER.md"])


def test_two_devices_that_write_in_the_same_second_lose_no_line(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", BLACK.encode())
    for device in (cloud.laptop, cloud.phone):
        device.remote._lag = 7
        device.run_pass()
    cloud.clock.pass_by(2)
    cloud.laptop.save("USER.md", f"{BLACK}- one\n")
    cloud.phone.save("USER.md", f"{BLACK}- two\n")
    cloud.fake.race_next_put(lambda: cloud.phone.run_pass() and None)

    cloud.laptop.run_pass()

    assert {"- black", "- one", "- two"} <= lines(cloud.together()["USER.md"])


def test_two_devices_that_write_in_the_same_second_lose_no_line_after_a_late_check(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", BLACK.encode())
    for device, lag in ((cloud.laptop, 7), (cloud.phone, 9)):
        device.remote._lag = (
            lag  # the text of the laptop gets the later time; both lie ahead of the server's clock
        )
        device.run_pass()
    cloud.clock.pass_by(2)
    cloud.laptop.save("USER.md", f"{BLACK}- one\n")
    cloud.phone.save("USER.md", f"{BLACK}- two\n")
    cloud.fake.race_next_put(lambda: cloud.phone.run_pass() and None)
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", skip=1)
    cloud.laptop.run_pass()
    assert "- two" not in lines(cloud.fake.files()["USER.md"])
    cloud.clock.pass_by(75)
    cloud.phone.run_pass()

    cloud.laptop.run_pass()

    assert {"- black", "- one", "- two"} <= lines(cloud.together()["USER.md"])


@pytest.mark.parametrize("answered", [True, False])
def test_a_concurrent_upload_after_a_retagging_loses_no_line(cloud: Cloud, answered: bool):
    cloud.agreed()
    cloud.fake.new_tags()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    if not answered:
        cloud.script.add(LoseAnswer(), "PUT")

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


@pytest.mark.parametrize("seen", [True, False])
def test_a_changed_line_survives_when_its_note_returns_to_an_earlier_tag(cloud: Cloud, seen: bool):
    cloud.agreed(USER=BLACK, tea="- tea\n")
    file = cloud.fake.tree.file("USER.md")
    tag = file.etag
    cloud.fake.new_tags()
    if seen:
        cloud.laptop.run_pass()
    cloud.clock.pass_by(5)
    cloud.fake.other_client_put(
        "USER.md", BLACK.replace("black", "white").encode(), mtime=file.mtime
    )
    cloud.fake.other_client_put("tea.md", b"- tea\n- milk\n")
    assert file.etag == tag
    cloud.laptop.save("USER.md", f"- mine\n{BLACK}")

    cloud.clock.pass_by(15)
    cloud.laptop.run_pass()

    assert {"- mine", "- white"} <= lines(cloud.together()["USER.md"])


def test_a_line_overwritten_by_an_upload_that_killed_the_server_survives(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", f"{TEXT}- seen\n".encode())
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    now = int(cloud.clock.seconds())
    cloud.fake.race_next_put(lambda: cloud.fake.other_client_put("USER.md", its("same"), mtime=now))
    cloud.fake.kill_next_put_at(9)

    for _ in range(3):
        cloud.laptop.run_pass()
        cloud.clock.pass_by(3)

    assert {"- green", "- mine", "- same"} <= lines(cloud.together()["USER.md"])


def test_a_line_stored_at_our_upload_time_below_a_partial_upload_survives(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", BLACK.encode())
    cloud.laptop.run_pass()
    cloud.laptop.save("USER.md", f"{BLACK}- mine\n")
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", skip=1)  # the look behind the upload
    cloud.laptop.run_pass()
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"{BLACK}- mine\n- phone\n")
    ahead = cloud.fake.tree.file("USER.md").mtime
    cloud.clock.pass_by(ahead - int(cloud.clock.seconds()))
    stale = its(upon=f"{BLACK}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", stale, mtime=ahead))
    cloud.fake.kill_next_put_at(9)

    cloud.phone.run_pass()
    assert cloud.fake.tree.file("USER.md").versions[ahead] == stale
    cloud.laptop.run_pass()

    assert {"- black", "- mine", "- phone", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_an_empty_response_instead_of_an_earlier_version(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(EMPTY_200, "GET", "/versions/")

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def overtake_a_line_behind_a_proxy(cloud: Cloud, instead: Answer, method: str) -> None:
    """The laptop writes over a line that it has not seen.

    A proxy, not the server, answers its question for the versions.
    """
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(instead, method, "/versions/")
    cloud.laptop.run_pass()
    assert instead in [fault for _, _, fault in cloud.script.happened]


@pytest.mark.parametrize("status", [404, 410, 403])
def test_a_line_survives_a_proxy_that_denies_the_version_history(cloud: Cloud, status: int):
    overtake_a_line_behind_a_proxy(cloud, replace(NOT_FOUND, status=status), "PROPFIND")

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_a_proxy_that_denies_a_single_version(cloud: Cloud):
    overtake_a_line_behind_a_proxy(cloud, NOT_FOUND, "GET")

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


@pytest.mark.sampled
@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("times", [2, 3, 4])
@pytest.mark.parametrize("skip", range(5))
def test_a_line_survives_a_proxy_that_answers_several_requests_with_404(
    cloud: Cloud, answered: bool, times: int, skip: int
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    if not answered:
        cloud.script.add(LoseAnswer(), "PUT")
    # The requests before these are the listing and the upload.
    cloud.script.add(NOT_FOUND, times=times, skip=skip + 2)

    for _ in range(4):
        with suppress(RemoteError):
            cloud.laptop.run_pass()
        cloud.clock.pass_by(3)

    assert NOT_FOUND in [fault for _, _, fault in cloud.script.happened]
    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_a_proxy_that_swallows_its_upload_before_a_same_length_write(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.script.add(EMPTY_200, "PUT")
    write = Meanwhile(lambda: bulk_upload(cloud.fake, "USER.md", its("next")))
    cloud.script.add(write, "PROPFIND", "USER.md")  # the question which tag the upload got
    cloud.laptop.run_pass()
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- phone\n")
    cloud.phone.run_pass()

    cloud.clock.pass_by(61)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- next", "- phone"} <= lines(cloud.together()["USER.md"])


def test_a_new_note_at_the_old_path_of_a_renamed_note_is_downloaded(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_move("USER.md", "ann.md")
    cloud.fake.other_client_put("USER.md", b"- new\n")

    for _ in range(3):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()

    assert cloud.laptop.text("USER.md") == "- new\n"
    assert cloud.laptop.text("ann.md") == TEXT


def test_a_note_missing_from_two_listings_is_kept(cloud: Cloud):
    cloud.agreed()
    for _ in range(2):
        cloud.fake.list_omits_once("USER.md")
        cloud.fake.other_client_put("tea.md", cloud.fake.files()["tea.md"] + b"- more\n")
        cloud.clock.pass_by(5)
        cloud.laptop.run_pass()

    assert cloud.laptop.text("USER.md") == TEXT
    assert "USER.md" in cloud.together()


def test_devices_do_not_fight_over_the_order_of_records(cloud: Cloud):
    cloud.laptop.save("log.jsonl", '{"id": "1"}\n')
    cloud.agreed(tea="- tea\n")
    cloud.laptop.save("log.jsonl", '{"id": "1"}\n{"id": "2"}\n{"id": "3"}\n')
    cloud.laptop.run_pass()
    cloud.fake.other_client_put("log.jsonl", b'{"id": "1"}\n{"id": "3"}\n{"id": "2"}\n')

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert cloud.together()["log.jsonl"] == b'{"id": "1"}\n{"id": "3"}\n{"id": "2"}\n'


def test_a_truncated_upload_is_completed_after_another_device_renames_it(cloud: Cloud):
    cloud.agreed(USER=BLACK, tea="- tea\n")
    cloud.laptop.save("USER.md", f"{BLACK}- mine\n")
    cloud.fake.kill_next_put_at(len(TEXT) - 3)
    cloud.laptop.run_pass()
    cloud.fake.other_client_move("USER.md", "ann.md")

    for _ in range(5):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()

    assert {"- green", "- black", "- mine"} <= lines(cloud.together()["ann.md"])


@pytest.mark.parametrize("written_upon", [True, False])
def test_a_line_survives_a_proxy_that_repeats_the_overwriting_upload(
    cloud: Cloud, written_upon: bool
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(
        Duplicate(), "PUT"
    )  # the second one is refused: the tag is that of the first one
    cloud.laptop.run_pass()
    assert "- its" not in lines(cloud.fake.files()["USER.md"])
    if written_upon:
        cloud.phone.run_pass()
        cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- phone\n")
        cloud.phone.run_pass()

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


@pytest.mark.parametrize("typed", [True, False])
def test_a_line_survives_when_another_device_reads_a_truncated_upload(cloud: Cloud, typed: bool):
    cloud.agreed()
    whole = TEXT.replace("- green", "- mine\n- green")
    cloud.laptop.save("USER.md", whole)
    cloud.fake.cut_next_put_short_at(len(whole) - 3)
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/")
    cloud.laptop.run_pass()
    cloud.phone.run_pass()
    assert cloud.phone.text("USER.md").endswith("- gre")
    if typed:
        cloud.phone.save(
            "USER.md", cloud.phone.text("USER.md").replace("## Tea\n", "## Tea\n- phone\n")
        )
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    cloud.fake.other_client_put("USER.md", cloud.fake.files()["USER.md"] + b"- its\n")

    cloud.phone.run_pass()

    texts = lines(cloud.together()["USER.md"])
    assert {"- mine", "- green", "- its", *(["- phone"] if typed else [])} <= texts
    assert "- gre" not in texts


@pytest.mark.parametrize("method", ["GET", "PROPFIND"])
def test_a_truncated_upload_is_repeated_once_when_its_check_is_interrupted(
    cloud: Cloud, method: str
):
    """A second repetition would overwrite what another program stores meanwhile under the same tag."""
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.cut_next_put_short_at(10)
    cloud.script.add(UNAVAILABLE, method, "/versions/", skip=1)
    cloud.laptop.run_pass()
    assert [fault for _, _, fault in cloud.script.happened] == [UNAVAILABLE]

    cloud.laptop.run_pass()

    assert cloud.puts() == 2
    assert cloud.together()["USER.md"] == f"{TEXT}- mine\n".encode()


def test_a_note_missing_from_a_listing_is_not_taken_for_a_truncated_upload(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("tea.md", b"- tea\n- more\n")
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.list_omits_once("USER.md")
    cloud.laptop.run_pass()
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(LoseAnswer(), "PUT")
    cloud.laptop.run_pass()

    cloud.clock.pass_by(75)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_uploaded_with_the_time_of_an_earlier_version_survives(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", its("white"))
    early = cloud.fake.tree.file("USER.md").mtime
    cloud.clock.pass_by(3)
    cloud.fake.other_client_put("USER.md", its("white\n- black"))
    cloud.laptop.run_pass()
    cloud.laptop.save("USER.md", cloud.laptop.text("USER.md") + "- mine\n")
    stale = its("another")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", stale, mtime=early))

    cloud.laptop.run_pass()

    assert {"- green", "- black", "- mine", "- another"} <= lines(cloud.together()["USER.md"])


@pytest.mark.sampled
@pytest.mark.parametrize("refusal", ["a text upon the half", 403, 413, 507])
def test_a_line_truncated_from_a_merge_survives_when_the_upload_cannot_be_repeated(
    cloud: Cloud, refusal: str | int
):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    cloud.fake.other_client_put("USER.md", its())
    cloud.fake.kill_next_put_at(len(f"- mine\n{TEXT}"))
    cloud.laptop.run_pass()
    assert cloud.fake.files()["USER.md"] == f"- mine\n{TEXT}".encode()
    cloud.clock.pass_by(70)
    if isinstance(refusal, int):
        cloud.script.add(Answer(refusal), "PUT", times=3)
    else:
        cloud.script.add(Meanwhile(lambda: write_upon_the_half(cloud)), "PUT")

    cloud.laptop.run_pass()

    texts = lines(cloud.together()["USER.md"])
    assert {"- green", "- mine", "- its"} <= texts
    assert ("- phone" in texts) is (refusal == "a text upon the half")


def write_upon_the_half(cloud: Cloud) -> None:
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", f"- phone\n{cloud.phone.text('USER.md')}")
    cloud.phone.run_pass()


def test_lines_truncated_from_an_upload_survive_a_much_later_edit_elsewhere(cloud: Cloud):
    cloud.agreed(USER=BLACK, tea="- tea\n")
    cloud.laptop.save("USER.md", f"- mine\n{BLACK}")
    cloud.fake.cut_next_put_short_at(len(f"- mine\n{TEXT}") - 3)
    # The laptop sees that half of it stands there, and cannot send it again.
    cloud.script.add(Meanwhile(cloud.fake.new_tags), "PUT", skip=1)
    cloud.laptop.run_pass()
    assert cloud.fake.files()["USER.md"].endswith(b"- gre")
    for _ in range(2):
        cloud.phone.run_pass()
        cloud.clock.pass_by(400)
    assert cloud.phone.text("USER.md").endswith("- gre")
    cloud.phone.save("USER.md", f"- phone\n{cloud.phone.text('USER.md')}")
    cloud.phone.run_pass()

    cloud.laptop.run_pass()

    texts = lines(cloud.together()["USER.md"])
    assert {"- mine", "- green", "- black", "- phone"} <= texts
    assert "- gre" not in texts


def test_a_line_before_an_unanswered_upload_survives_the_next_write(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n- next\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(LoseAnswer(), "PUT")
    cloud.laptop.run_pass()
    cloud.clock.pass_by(3)
    bulk_upload(cloud.fake, "USER.md", its("other"))

    for _ in range(3):
        cloud.clock.pass_by(3)
        cloud.laptop.run_pass()

    assert {"- green", "- mine", "- next", "- its", "- other"} <= lines(cloud.together()["USER.md"])


def test_a_line_overwritten_by_a_truncated_upload_survives_an_interrupted_check(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.fake.cut_next_put_short_at(10)
    # The answer after the second upload is missing. Until the next pass, the server drops the version.
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", skip=1)
    cloud.laptop.run_pass()
    cloud.fake.tree.file("USER.md").versions.clear()

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_that_takes_the_place_of_an_empty_upload_among_the_versions_survives(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.kill_next_put_at(0)
    cloud.laptop.run_pass()
    assert cloud.fake.files()["USER.md"] == b""
    moment = cloud.fake.tree.file("USER.md").mtime
    # Within the second of the empty text, so that the server keeps one version of both.
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its(), mtime=moment))
    cloud.clock.pass_by(70)

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_an_upload_that_never_arrived_does_not_prove_that_the_text_before_it_was_read(cloud: Cloud):
    """An author overwrites the phone's text a moment after it arrived. The laptop tries to upload a minute later."""
    above = TEXT.replace("- green", "- black\n- green")
    cloud.agreed()
    cloud.phone.save("USER.md", above)
    cloud.phone.run_pass()
    cloud.laptop.run_pass()
    bulk_upload(cloud.fake, "USER.md", its())
    cloud.clock.pass_by(70)
    cloud.laptop.save("USER.md", f"{above}- mine\n")
    cloud.script.add(LoseRequest(silent=True), "PUT")
    cloud.laptop.run_pass(ask=False)
    cloud.script.clear()

    cloud.laptop.run_pass()

    assert lines(cloud.laptop.text("USER.md").encode()) == lines(above.encode()) | {
        "- its",
        "- mine",
    }
