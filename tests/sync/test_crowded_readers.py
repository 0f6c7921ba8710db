"""Had the author of a text on the server read the line that it lacks? Runs of the crowd that lost such a line.

Each is told step by step: what everybody does until the line would be gone.
"""

from pathlib import Path

import pytest

from tests.remote.servers.faults import NOT_FOUND, UNAVAILABLE, LoseAnswer, Meanwhile
from tests.sync.clouded import bulk_upload
from tests.sync.test_crowded_losses import BLACK, its, lines
from tests.sync.test_scenarios_servers import TEXT, Cloud


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


@pytest.mark.parametrize("seconds", [1, 10])
def test_an_overwritten_line_survives_when_the_check_of_its_upload_comes_late(
    cloud: Cloud, seconds: int
):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", BLACK.encode())
    for device in (cloud.laptop, cloud.phone):
        device.remote._lag = 0
        device.run_pass()
    cloud.laptop.save("USER.md", f"{BLACK}- mine\n")
    # The laptop's text gets a time ahead of the server's clock, and the look behind it breaks off.
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", skip=1)
    cloud.laptop.run_pass()
    cloud.clock.pass_by(seconds)
    cloud.fake.other_client_put("USER.md", its(upon=BLACK))
    cloud.clock.pass_by(2)
    cloud.laptop.run_pass(ask=False)
    cloud.clock.pass_by(20)
    cloud.phone.save("USER.md", f"- phone\n{BLACK}")
    cloud.phone.run_pass()

    cloud.laptop.run_pass()

    assert {"- black", "- mine", "- its", "- phone"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_an_edit_of_a_text_with_the_same_time_and_length(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    time = cloud.fake.tree.file("USER.md").mtime
    bulk_upload(cloud.fake, "USER.md", its("item"), mtime=time)
    cloud.clock.pass_by(20)
    cloud.phone.run_pass()
    cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- phone\n")
    cloud.phone.run_pass()

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- item", "- phone"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_a_proxy_that_denies_the_note_after_a_lost_response(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.race_next_put(lambda: bulk_upload(cloud.fake, "USER.md", its()))
    cloud.script.add(LoseAnswer(), "PUT")
    cloud.script.add(NOT_FOUND, "GET", "USER.md")
    for _ in range(2):
        cloud.laptop.run_pass()
        cloud.clock.pass_by(3)
    assert NOT_FOUND in [fault for _, _, fault in cloud.script.happened]

    assert {"- green", "- mine", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_uploaded_during_a_local_save_survives(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    bulk_upload(cloud.fake, "USER.md", b"## Tea\n\n- its\n")
    cloud.clock.pass_by(3)
    more = f"{TEXT}- mine\n- more\n"
    cloud.laptop.save("USER.md", more)
    typed = Meanwhile(lambda: cloud.laptop.save("USER.md", f"{more}- typed\n"))
    cloud.script.add(typed, "GET", "USER.md")
    cloud.laptop.run_pass()
    assert {"- mine", "- its"} <= lines(cloud.fake.files()["USER.md"])
    bulk_upload(cloud.fake, "USER.md", its("its\n- next"))

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    texts = lines(cloud.together()["USER.md"])
    assert {"- green", "- mine", "- more", "- typed", "- its", "- next"} <= texts


def test_an_upload_survives_a_writer_that_read_only_its_first_lines(cloud: Cloud):
    cloud.agreed()
    begin = "## Tea\n\n- mine\n"
    cloud.laptop.save("USER.md", f"{begin}- green\n- more\n")
    cloud.fake.cut_next_put_short_at(len(begin))
    readings: list[bytes] = []
    reading = Meanwhile(lambda: readings.append(cloud.fake.files()["USER.md"]))
    cloud.script.add(reading, "PROPFIND", "/versions/")
    cloud.laptop.run_pass()
    assert readings == [begin.encode()]
    assert "- more" in lines(cloud.fake.files()["USER.md"])

    bulk_upload(cloud.fake, "USER.md", its(upon=begin))
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    assert {"- mine", "- green", "- more", "- its"} <= lines(cloud.together()["USER.md"])


def test_a_line_survives_an_edit_of_a_text_with_an_earlier_time_and_length(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", BLACK.encode())
    time = cloud.fake.tree.file("USER.md").mtime
    for device in (cloud.laptop, cloud.phone):
        device.remote._lag = 0
        device.run_pass()
    cloud.laptop.save("USER.md", f"{BLACK}- mine\n")
    cloud.laptop.run_pass()
    stale = BLACK.replace("black", "white").encode()
    cloud.fake.other_client_put("USER.md", stale, mtime=time)
    cloud.clock.pass_by(10)
    cloud.phone.save("USER.md", f"{BLACK}- phone\n")
    for _ in range(2):
        cloud.clock.pass_by(10)
        cloud.phone.run_pass()
    assert {"- white", "- phone"} <= lines(cloud.fake.files()["USER.md"])

    cloud.laptop.run_pass()

    assert {"- green", "- mine", "- white", "- phone"} <= lines(cloud.together()["USER.md"])


def test_a_line_stored_under_the_tag_of_a_repeated_upload_survives(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.fake.cut_next_put_short_at(len(TEXT))
    # The look behind the upload sends it again, and breaks off right after that.
    cloud.script.add(UNAVAILABLE, "PROPFIND", "/versions/", skip=1)
    cloud.laptop.run_pass()
    file = cloud.fake.tree.file("USER.md")
    assert "- mine" in lines(file.raw)
    # Twice at the time and the length of our text: the first of them lies in its entry.
    for line in ("mine", "its!"):
        cloud.fake.other_client_put("USER.md", its(line), mtime=file.mtime)

    cloud.laptop.run_pass(ask=False)

    assert "- its!" in lines(cloud.together()["USER.md"])


def test_a_truncated_line_survives_a_future_version_of_the_same_length(cloud: Cloud):
    cloud.agreed()
    begin = f"{TEXT}- mine\n"
    ours = f"{begin}- more\n"
    ahead = int(cloud.clock.seconds()) + 600
    long_ago = "x" * (len(ours) - len(TEXT) - len("- \n"))
    cloud.fake.other_client_put("USER.md", its(long_ago), mtime=ahead)
    cloud.fake.other_client_put("USER.md", TEXT.encode())
    cloud.clock.pass_by(70)
    cloud.laptop.run_pass()
    cloud.clock.pass_by(70)
    cloud.laptop.run_pass()
    cloud.laptop.save("USER.md", ours)
    cloud.fake.cut_next_put_short_at(len(begin))
    typed = Meanwhile(lambda: cloud.laptop.save("USER.md", f"{ours}- typed\n"))
    cloud.script.add(typed, "PROPFIND", "/versions/")
    cloud.laptop.run_pass()
    assert typed in [fault for _, _, fault in cloud.script.happened]
    assert cloud.fake.files()["USER.md"] == begin.encode()
    bulk_upload(cloud.fake, "USER.md", its(upon=begin))

    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()

    texts = lines(cloud.together()["USER.md"])
    assert {"- green", "- mine", "- more", "- typed", "- its"} <= texts
