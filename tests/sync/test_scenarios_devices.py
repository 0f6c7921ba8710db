"""Several devices, other programs, odd names and hostile paths, by the numbers of the scenarios."""

import unicodedata
from datetime import timedelta
from pathlib import Path

import pytest

from tests.remote.servers.faults import Faulty, Meanwhile, Script, replaced
from tests.remote.servers.nextcloud import FakeNextcloud
from tests.sync.clouded import connected
from tests.sync.devices import Clock, Device
from tests.sync.test_scenarios_servers import TEXT, Cloud
from vault_memory.sync.settings import Settings
from vault_memory.vault.snapshots import revision_of
from vault_memory.vault.write.replacement import Replacement


@pytest.fixture
def cloud(base: Path) -> Cloud:
    return Cloud(base)


def bot_adds(device: Device, path: str, line: str) -> None:
    """A bot writes through the writer, upon what it has just read."""
    before = device.files()[path]
    assert device.writer is not None
    new = Replacement(
        path,
        before + f"{line}\n".encode(),
        expected=revision_of(before),
        op_id=f"{device.name}-{revision_of(before + line.encode())[:12]}",
        quiet=0,
    )
    written = device.writer.write(new, now=device.clock.now)
    assert written.outcome == "written"


@pytest.mark.scenario("D74")
def test_a_note_offloaded_to_icloud_is_neither_deleted_nor_downloaded(cloud: Cloud):
    cloud.agreed()
    (cloud.laptop.vault / "tea.md").rename(cloud.laptop.vault / ".tea.md.icloud")

    for _ in range(4):
        cloud.clock.pass_by(61)
        report = cloud.laptop.run_pass()

    assert cloud.fake.files()["tea.md"] == b"- tea\n"
    assert not (cloud.laptop.vault / "tea.md").exists()
    assert not cloud.fake.requests("GET")
    assert "tea.md" in dict(report.skipped)


@pytest.mark.sampled
@pytest.mark.scenario("D75")
@pytest.mark.parametrize(
    "name", [".tea.md.~abc", ".syncthing.tea.md.tmp", "tea.md.part", "tea.md~"]
)
def test_partial_downloads_of_other_programs_are_not_synced(cloud: Cloud, name: str):
    cloud.agreed()
    cloud.laptop.save(name, "- hal")
    cloud.fake.other_client_put(f"{name}2" if name.endswith("~abc") else name, b"- ha")

    cloud.laptop.settle((cloud.phone,))

    assert set(cloud.phone.files()) == {"USER.md", "tea.md"}
    assert cloud.laptop.vault.joinpath(name).read_text() == "- hal"


@pytest.mark.scenario("D76")
def test_two_bots_that_note_the_same_fact_on_one_day_produce_one_item(cloud: Cloud):
    cloud.agreed()
    for device, own in ((cloud.laptop, "- has a laptop"), (cloud.phone, "- has a phone")):
        bot_adds(device, "USER.md", "- likes oolong (2026-11-22)")
        bot_adds(device, "USER.md", own)

    lines = cloud.together()["USER.md"].decode().splitlines()

    assert sorted(line for line in lines if line.startswith("- ")) == [
        "- green",
        "- has a laptop",
        "- has a phone",
        "- likes oolong (2026-11-22)",
    ]
    assert not [path for path in cloud.laptop.files() if "copy" in path]


@pytest.mark.sampled
@pytest.mark.scenario("D77")
def test_a_device_away_for_a_month_brings_its_edits_and_no_deleted_note(cloud: Cloud):
    items = "".join(f"- item {number}\n" for number in range(12))
    cloud.agreed(USER="## Tea\n\n" + items, tea="- tea\n", gone="- gone\n")
    for day in range(30):
        cloud.clock.pass_by(86_400)
        text = cloud.laptop.text("USER.md").replace(f"- item {day}\n", "") + f"- day {day}\n"
        cloud.laptop.save("USER.md", text)
        if day == 3:
            (cloud.laptop.vault / "gone.md").unlink()
        cloud.laptop.run_pass()
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()
    cloud.phone.save("USER.md", cloud.phone.text("USER.md") + "- from the phone\n")

    cloud.phone.stop()
    cloud.phone.start()
    files = cloud.together()

    lines = files["USER.md"].decode().splitlines()
    assert [line for line in lines if line.startswith("- item")] == []
    assert [f"- day {day}" for day in range(30)] == [
        line for line in lines if line.startswith("- day")
    ]
    assert "- from the phone" in lines
    assert set(files) == {"USER.md", "tea.md"}


@pytest.mark.scenario("D78")
def test_the_marker_and_the_state_are_never_synced(base: Path):
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    device = Device(base, "laptop", connected(fake), clock)
    for name in (
        ".vault-memory",
        ".vault-memory.lease",
        ".vault-memory/sync.sqlite",
        "notes/.vault-memory",
    ):
        if "/" in name and (device.vault / name.partition("/")[0]).is_file():
            continue
        device.save(name, "ours")
    device.save("USER.md", TEXT)
    fake.other_client_put(".vault-memory.lease", b"theirs")

    device.settle()

    assert set(fake.files()) == {"USER.md", ".vault-memory.lease"}
    assert (device.vault / ".vault-memory.lease").read_text() == "ours"


@pytest.mark.scenario("D80")
def test_two_programs_that_keep_rewriting_a_note_are_stopped(cloud: Cloud):
    cloud.agreed()
    reports = []
    for number in range(12):
        cloud.clock.pass_by(2.1)
        cloud.laptop.save("USER.md", f"{TEXT}- mine {number}\n")
        reports.append(cloud.laptop.run_pass())
        cloud.clock.pass_by(2.1)
        cloud.fake.other_client_put("USER.md", f"{TEXT}- its {number}\n".encode())
        reports.append(cloud.laptop.run_pass())

    stopped = [at for at, report in enumerate(reports) if "USER.md" in dict(report.skipped)]
    assert stopped
    assert "in turns" in dict(reports[stopped[0]].skipped)["USER.md"]
    assert len([one for one in reports[: stopped[0]] if one.acted]) <= 9
    cloud.clock.pass_by(120)
    cloud.together()


@pytest.mark.scenario("F106")
def test_a_note_edited_remotely_survives_the_local_deletion_of_its_folder(cloud: Cloud):
    cloud.laptop.save("d/a.md", "- a\n")
    cloud.laptop.save("d/b.md", "- b\n")
    cloud.agreed()
    for name in ("a.md", "b.md"):
        (cloud.laptop.vault / "d" / name).unlink()
    (cloud.laptop.vault / "d").rmdir()
    cloud.fake.other_client_put("d/b.md", b"- b\n- more\n")

    assert cloud.together().keys() == {"USER.md", "tea.md", "d/b.md"}


@pytest.mark.scenario("F107")
@pytest.mark.parametrize("folder_here", [True, False])
def test_a_file_and_a_folder_of_the_same_name_are_both_kept(cloud: Cloud, folder_here: bool):
    cloud.agreed()
    if folder_here:
        cloud.laptop.save("boat.md/deck.md", "- deck\n")
        cloud.fake.other_client_put("boat.md", b"- boat\n")
    else:
        cloud.laptop.save("boat.md", "- boat\n")
        cloud.fake.other_client_put("boat.md/deck.md", b"- deck\n")

    files = cloud.together()

    assert b"- deck\n" in files.values()
    assert b"- boat\n" in files.values()


@pytest.mark.scenario("F108")
def test_names_the_server_treats_as_equal_are_both_kept(cloud: Cloud):
    cloud.agreed()
    cloud.laptop.save(unicodedata.normalize("NFC", "caf\u00e9.md"), "- composed\n")
    cloud.laptop.save(unicodedata.normalize("NFD", "caf\u00e9.md"), "- decomposed\n")
    cloud.laptop.save("Tee.md", "- upper\n")
    cloud.laptop.save("tee.md", "- lower\n")

    for _ in range(4):
        cloud.clock.pass_by(61)
        cloud.laptop.run_pass()
        cloud.phone.run_pass()

    for device in (cloud.laptop, cloud.phone):
        texts = b"".join(device.files().values())
        assert all(
            word in texts for word in (b"- composed", b"- decomposed", b"- upper", b"- lower")
        )


@pytest.mark.sampled
@pytest.mark.scenario("F109")
@pytest.mark.parametrize(
    "name",
    [
        "CON.md",
        "a:b.md",
        "end. ",
        "x" * 252 + ".md",
        "\U0001f642.md",
        "\u202egnp.md",
        "two\nlines.md",
        "back\\slash.md",
    ],
)
def test_odd_names_are_synced_exactly_or_not_at_all(cloud: Cloud, name: str):
    cloud.agreed()
    cloud.laptop.save(name, "- odd\n")
    cloud.laptop.save("new.md", "- new\n")

    for _ in range(3):
        cloud.clock.pass_by(61)
        report = cloud.laptop.run_pass()
        cloud.phone.run_pass()

    told = {**dict(report.skipped), **dict(report.failed)}
    assert "new.md" in cloud.phone.files()
    assert cloud.laptop.text(name) == "- odd\n"
    assert cloud.phone.files().get(name) == b"- odd\n" or name in told
    assert set(cloud.phone.files()) - {name} == {"USER.md", "tea.md", "new.md"}


@pytest.mark.scenario("F111")
def test_excluded_files_survive_the_remote_deletion_of_their_folder(cloud: Cloud):
    cloud.laptop.save("d/a.md", "- a\n")
    cloud.agreed()
    cloud.laptop.save("d/.a.md.swp", "unsaved")
    cloud.fake.other_client_delete("d")

    cloud.laptop.settle((cloud.phone,))

    assert (cloud.laptop.vault / "d/.a.md.swp").read_text() == "unsaved"
    assert not (cloud.laptop.vault / "d/a.md").exists()
    assert not (cloud.phone.vault / "d").exists()


@pytest.mark.scenario("F112")
@pytest.mark.parametrize("excluded", [True, False])
def test_a_note_that_becomes_excluded_is_not_deleted(base: Path, excluded: bool):
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    device = Device(base, "laptop", connected(fake), clock, Settings(largest=1000))
    device.save("USER.md", TEXT)
    device.save("tea.md", "- tea\n")
    device.settle()
    if excluded:
        device.stop()
        device.settings = Settings(exclude=("tea.md",), device="laptop")
        device.start()
        (device.vault / "tea.md").unlink()
    else:
        device.save("tea.md", "- tea\n" * 1000)

    for _ in range(4):
        clock.pass_by(61)
        report = device.run_pass()

    assert fake.files()["tea.md"] == b"- tea\n"
    assert "tea.md" in dict(report.skipped)


@pytest.mark.scenario("H120")
def test_a_folder_swapped_for_a_symlink_during_the_pass_leaks_nothing(cloud: Cloud, base: Path):
    cloud.laptop.save("notes/a.md", "- a\n")
    cloud.agreed()
    outside = base / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("- secret\n")
    cloud.fake.other_client_put("notes/a.md", b"- a\n- evil\n")
    cloud.fake.other_client_put("notes/new.md", b"- evil\n")

    def plant() -> None:
        notes = cloud.laptop.vault / "notes"
        if not notes.is_symlink():
            notes.rename(base / "kept")
            notes.symlink_to(outside)

    cloud.script.add(Meanwhile(plant), "GET")
    for _ in range(4):
        cloud.laptop.run_pass()
        cloud.clock.pass_by(61)

    assert {path.name: path.read_text() for path in outside.iterdir()} == {"a.md": "- secret\n"}
    assert b"- secret" not in b"".join(cloud.fake.files().values())
    assert "notes/a.md" in cloud.fake.files()


@pytest.mark.scenario("H119")
@pytest.mark.parametrize(
    "evil",
    [
        "../evil.md",
        "%2e%2e%2fevil.md",
        "..%5cevil.md",
        "%2Fevil.md",
        "%252e%252e%252fevil.md",
        "a/../../evil.md",
    ],
)
def test_a_listing_with_paths_outside_the_folder_writes_nothing_outside(base: Path, evil: str):
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    script = Script()
    device = Device(base, "laptop", connected(fake, Faulty(fake, script)), clock)
    device.save("USER.md", TEXT)
    device.settle()
    fake.other_client_put("placeholder.md", b"- evil\n")
    script.add(replaced(b"placeholder.md", evil.encode()), "PROPFIND", times=None)

    before = {path for path in base.rglob("*") if "state" not in path.parts}
    for _ in range(3):
        clock.pass_by(61)
        device.run_pass()

    fresh = {path for path in base.rglob("*") if "state" not in path.parts} - before
    assert all(path.is_relative_to(device.vault) for path in fresh)
    assert not [path for path in base.rglob("evil.md") if not path.is_relative_to(device.vault)]


@pytest.mark.scenario("H124")
@pytest.mark.parametrize(
    "crafted",
    ["users/nell/USER.md", "users/../users/nell/USER.md", "users/mira%2F..%2Fnell/USER.md"],
)
def test_paths_of_one_user_never_reach_another_users_files(base: Path, crafted: str):
    clock = Clock()
    fake = FakeNextcloud(clock=clock.seconds)
    fake.add_user("nell", "secret of nell")
    nell = fake.accounts["nell"].tree
    nell.write("USER.md", b"- nell's\n")
    script = Script()
    device = Device(base, "laptop", connected(fake, Faulty(fake, script)), clock)
    device.save("USER.md", TEXT)
    device.settle()
    fake.other_client_put("placeholder.md", b"- theirs\n")
    script.add(replaced(b"placeholder.md", f"../nell/{crafted}".encode()), "PROPFIND", times=None)
    device.save("USER.md", TEXT + "- more\n")

    for _ in range(3):
        clock.pass_by(timedelta(minutes=2).total_seconds())
        device.run_pass()

    assert nell.file("USER.md").raw == b"- nell's\n"
    assert b"nell's" not in b"".join(device.files().values())
    assert not [seen.path for seen in fake.log if "/files/nell" in seen.path]
