"""A note whose common text is forgotten: its merge is a union, however often it breaks off."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.remote.servers.faults import (
    UNAVAILABLE,
    CutResponse,
    Fault,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
)
from tests.sync.clouded import bulk_upload
from tests.sync.test_crowded_losses import its, lines
from tests.sync.test_scenarios_servers import TEXT, Cloud
from vault_memory.remote.remote_errors import RemoteError
from vault_memory.sync.trees import BaseFile

REQUESTS = ("GET", "PROPFIND", "PUT")


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


def forget_the_base(cloud: Cloud) -> None:
    """As a damaged database of the sync state does: the laptop no longer knows what both sides agreed on."""
    with cloud.laptop.sync.state.transaction():
        cloud.laptop.sync.state.forget("USER.md")


def type_a_line(cloud: Cloud) -> None:
    """An editor loads the note and saves it with one more line."""
    cloud.laptop.save("USER.md", cloud.laptop.text("USER.md") + "- typed\n")


def three_passes(cloud: Cloud) -> None:
    for _ in range(3):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()


def live_lines(cloud: Cloud) -> set[str]:
    return set[str]().union(*map(lines, cloud.together().values()))


@pytest.mark.sampled
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("method", REQUESTS)
def test_a_remote_line_survives_a_save_during_a_merge_without_base(
    cloud: Cloud, method: str, after: bool
):
    cloud.agreed()
    forget_the_base(cloud)
    cloud.fake.other_client_put("USER.md", its("its only"))
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    typed = Meanwhile(lambda: type_a_line(cloud), after=after)
    cloud.script.add(typed, method)

    three_passes(cloud)

    assert typed in [fault for _, _, fault in cloud.script.happened]
    assert {"- green", "- its only", "- mine", "- typed"} <= live_lines(cloud)


def test_a_note_is_downloaded_by_the_first_pass_after_its_editor_closes(cloud: Cloud):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", its())
    swap_file = cloud.laptop.vault / ".USER.md.swp"
    swap_file.touch()
    cloud.laptop.run_pass()
    assert cloud.laptop.text("USER.md") == TEXT
    swap_file.unlink()

    cloud.laptop.run_pass()

    assert cloud.laptop.text("USER.md") == its().decode()


def test_a_remote_line_survives_a_merge_without_base_delayed_by_an_open_editor(cloud: Cloud):
    cloud.agreed()
    forget_the_base(cloud)
    cloud.fake.other_client_put("USER.md", its("its only"))
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    swap_file = cloud.laptop.vault / ".USER.md.swp"
    swap_file.touch()
    cloud.laptop.run_pass()
    swap_file.unlink()

    three_passes(cloud)

    assert {"- green", "- its only", "- mine"} <= live_lines(cloud)


@pytest.mark.parametrize("edited", [False, True])
def test_an_overwritten_line_survives_a_merge_delayed_by_an_open_editor(cloud: Cloud, edited: bool):
    cloud.agreed()
    cloud.laptop.save("USER.md", f"{TEXT}- mine\n")
    cloud.laptop.run_pass()
    bulk_upload(cloud.fake, "USER.md", its())
    if edited:
        cloud.laptop.save("USER.md", f"{TEXT}- mine\n- more\n")
    swap_file = cloud.laptop.vault / ".USER.md.swp"
    swap_file.touch()
    cloud.clock.pass_by(3)
    cloud.laptop.run_pass()
    swap_file.unlink()

    three_passes(cloud)

    assert {"- green", "- its", "- mine"} <= live_lines(cloud)


FAULTS = [UNAVAILABLE, LoseAnswer(), LoseRequest(), CutResponse(-5), None]


@given(
    method=st.sampled_from(REQUESTS),
    fault=st.sampled_from(FAULTS),
    skip=st.integers(0, 2),
    after=st.booleans(),
    mine=st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
    removed=st.booleans(),
    is_open=st.booleans(),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_line_of_both_sides_survives_any_interruption_of_a_merge_without_base(
    tmp_path_factory: pytest.TempPathFactory,
    method: str,
    fault: Fault | None,
    skip: int,
    after: bool,
    mine: list[str],
    removed: bool,
    is_open: bool,
):
    cloud = Cloud(tmp_path_factory.mktemp("cloud"))
    cloud.agreed()
    forget_the_base(cloud)
    theirs = "## Tea\n\n- its only\n" if removed else f"{TEXT}- its only\n"
    cloud.fake.other_client_put("USER.md", theirs.encode())
    here = TEXT + "".join(f"- {line}\n" for line in mine)
    cloud.laptop.save("USER.md", here)
    if fault is not None:
        cloud.script.add(fault, method, skip=skip)
    typed = Meanwhile(lambda: type_a_line(cloud), after=after)
    cloud.script.add(typed, method, skip=skip)

    swap_file = cloud.laptop.vault / ".USER.md.swp"
    if is_open:
        swap_file.touch()

    for _ in range(3):
        cloud.clock.pass_by(61)
        try:
            cloud.laptop.run_pass()
        except RemoteError:
            continue  # the whole server was out of reach
        swap_file.unlink(missing_ok=True)
    swap_file.unlink(missing_ok=True)

    assert {"- its only", *lines(here.encode())} <= live_lines(cloud)


def delete_unused_bytes(cloud: Cloud) -> None:
    """As the owner of a vault does now and then: bytes that are no version of a note go."""
    with cloud.laptop.writing() as writer, writer.journal.transaction():
        writer.snapshots.drop_unused()


CALLS = ("- call Anna\n", "- call Ben\n")


@pytest.mark.sampled
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize(
    "theirs", [f"{TEXT}{CALLS[1]}- more\n", f"{TEXT}{CALLS[1]}", f"## Tea\n\n{CALLS[1]}"]
)
def test_a_line_saved_during_a_download_survives_the_next_write_of_another_device(
    cloud: Cloud, theirs: str, edited: bool
):
    cloud.agreed()
    cloud.fake.other_client_put("USER.md", its("its"))
    cloud.clock.pass_by(3)
    if edited:
        cloud.laptop.save("USER.md", f"- mine\n{TEXT}")
    before = cloud.laptop.text("USER.md")
    typed = Meanwhile(lambda: cloud.laptop.save("USER.md", before + CALLS[0]), after=True)
    cloud.script.add(typed, "GET")
    cloud.laptop.run_pass()
    assert CALLS[0] in cloud.laptop.text("USER.md")
    delete_unused_bytes(cloud)
    cloud.clock.pass_by(3)
    cloud.fake.other_client_put("USER.md", theirs.encode())

    three_passes(cloud)

    assert {"- call Anna", "- call Ben"} <= live_lines(cloud)


@pytest.mark.parametrize("saved", [False, True])
def test_the_bytes_of_every_base_are_stored(cloud: Cloud, saved: bool):
    cloud.agreed()
    for number in range(3):
        cloud.fake.other_client_put("USER.md", its(f"its {number}"))
        cloud.clock.pass_by(3)
        if saved:
            typed = Meanwhile(lambda: type_a_line(cloud), after=True)
            cloud.script.add(typed, "GET")
        cloud.laptop.run_pass()
        delete_unused_bytes(cloud)
        with cloud.laptop.writing() as writer:
            for was in cloud.laptop.sync.state.base().values():
                if isinstance(was, BaseFile):
                    assert writer.snapshots.knows(was.hash)
