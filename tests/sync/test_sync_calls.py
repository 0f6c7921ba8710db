"""A vault and its remote, brought in step through the public API: what is done, what is told, when nobody is asked."""

import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.scenarios.cloud import Cloud, running_cloud
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.config.remote_password import PasswordUnsafe
from vault_memory.errors import ConfigError
from vault_memory.remote.remote_errors import RemoteBusy, RemoteUnreachable, Unauthorised
from vault_memory.sync.connection import NoRemote, alone
from vault_memory.sync.report import SyncReport
from vault_memory.sync.sync_errors import AnotherClient


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with running_cloud() as cloud:
        yield cloud


class Vaults:
    """Vaults that are opened for a test and closed after it."""

    def __init__(self, base: Path, cloud: Cloud) -> None:
        self.base, self.cloud = base, cloud
        self.opened: list[VaultMemory] = []

    def open(self, name: str, **settings: str) -> VaultMemory:
        root = self.base / name
        root.mkdir(exist_ok=True)
        own = {
            "VAULT_MEMORY_STATE": str(self.base / f"{name}-state"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        }
        known = {**own, **self.cloud.settings, **settings}
        environment = {name: value for name, value in known.items() if value}
        self.opened.append(VaultMemory.open(root, environment=environment))
        return self.opened[-1]


@pytest.fixture
def vaults(tmp_path: Path, cloud: Cloud) -> Iterator[Vaults]:
    vaults = Vaults(tmp_path, cloud)
    yield vaults
    for memory in vaults.opened:
        memory.close()


def write(memory: VaultMemory, path: str, text: str) -> None:
    file = memory.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_an_edit_travels_through_the_server_and_is_searchable_in_another_vault(vaults: Vaults):
    here, there = vaults.open("here"), vaults.open("there")
    write(here, "USER.md", "## Tea\n\n- green, from the harbour shop\n")

    assert here.sync().uploaded == 1
    assert there.sync().downloaded == 1

    hits = there.search("harbour shop", scopes=there.scopes()).hits
    assert [hit.note for hit in hits] == ["USER.md"]


def test_a_second_sync_changes_nothing_and_makes_few_requests(vaults: Vaults):
    memory = vaults.open("here")
    write(memory, "USER.md", "- tea\n")
    memory.sync()
    memory.sync.close()

    report = memory.sync()

    assert report == SyncReport(requests=report.requests)
    assert report.requests <= 3, "who the server is takes two, whether anything changed takes one"
    assert memory.sync().requests == 1


def test_a_dry_run_reports_the_changes_and_makes_none(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    write(memory, "USER.md", "- tea\n")

    report = memory.sync(dry_run=True, now=datetime.now(UTC) + timedelta(minutes=1))

    assert [(one.path, one.reason) for one in report.planned] == [("USER.md", "upload")]
    assert cloud.files() == {}


def test_a_note_saved_just_now_is_waited_for(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    memory.sync()
    slept: list[float] = []
    write(memory, "USER.md", "- tea\n")

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        threading.Event().wait(seconds)

    report = memory.sync(sleep=sleep)

    assert (report.uploaded, slept) == (1, [0.6])
    assert cloud.files() == {"USER.md": b"- tea\n"}


def test_a_deletion_is_applied_after_a_second_sighting(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    write(memory, "notes/a.md", "- a\n")
    write(memory, "notes/b.md", "- b\n")
    memory.sync()
    (memory.root / "notes/a.md").unlink()

    assert memory.sync().deleted_remote == 1
    assert set(cloud.files()) == {"notes/b.md"}


def test_many_deletes_at_once_are_held_until_approved(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    for number in range(14):
        write(memory, f"n{number}.md", f"- {number}\n")
    memory.sync()
    for number in range(12):
        (memory.root / f"n{number}.md").unlink()

    held = memory.sync()

    assert held.deleted_remote == 0
    assert len(held.held) == 12
    assert "12 of 14 files would be deleted at once" in held.held[0].reason
    assert memory.sync.status()["held"]
    assert memory.sync(approve_deletes=True).deleted_remote == 12
    assert set(cloud.files()) == {"n12.md", "n13.md"}
    assert not memory.sync.status()["held"]


@pytest.mark.parametrize("mode", ["pull", "push"])
def test_a_one_way_sync_writes_only_to_its_target(vaults: Vaults, cloud: Cloud, mode: str):
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_MODE=mode)
    write(memory, "mine.md", "- mine\n")
    cloud.server.other_client_put("Notes/its.md", b"- its\n")

    report = memory.sync()

    assert ("its.md" in os.listdir(memory.root)) == (mode == "pull")
    assert ("mine.md" in cloud.files()) == (mode == "push")
    assert not report.held, "what is only read is no brake"
    assert {one.path for one in report.skipped} == {"mine.md" if mode == "pull" else "its.md"}


def test_excluded_files_stay_in_place(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    config = memory.root.parent / "config.toml"
    config.write_text('[remote]\nexclude = ["private", "*.mp4"]\n')
    memory = vaults.open("here", VAULT_MEMORY_CONFIG=str(config))
    for path in ("USER.md", "private/diary.md", "clip.mp4"):
        write(memory, path, "- x\n")

    memory.sync()

    assert set(cloud.files()) == {"USER.md"}


def test_sync_reports_its_progress(vaults: Vaults):
    memory = vaults.open("here")
    for number in range(3):
        write(memory, f"n{number}.md", f"- {number}\n")
    told: list[tuple[str, int, int]] = []

    memory.sync(progress=lambda what, done, total: told.append((what, done, total)))

    assert told[0] == ("syncing", 0, 3)


@pytest.mark.sampled
@pytest.mark.scenario("E84")
def test_a_rejected_password_is_tried_three_times_and_nothing_is_deleted(
    vaults: Vaults, cloud: Cloud
):
    memory = vaults.open("here")
    write(memory, "USER.md", "- tea\n")
    memory.sync()
    cloud.server.revoke(cloud.server.app_password)
    memory.sync.close()
    asked = len(cloud.server.log)

    for minutes in (0, 1, 59, 61, 62, 130, 200, 100_000):
        with pytest.raises(Unauthorised):
            memory.sync(now=datetime.now(UTC) + timedelta(minutes=minutes))

    assert len(cloud.server.log) - asked == 3
    assert (memory.root / "USER.md").exists()
    assert memory.sync.status()["state"] == "stopped"
    assert "refused" in memory.sync.status()["reason"]


@pytest.mark.scenario("E84")
def test_a_new_password_is_tried_at_once(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_PASSWORD="wrong")
    with pytest.raises(Unauthorised):
        memory.sync()

    right = vaults.open("here")

    right.sync()
    assert right.sync.status()["state"] != "stopped"


@pytest.mark.scenario("E97")
def test_a_server_in_maintenance_is_reported_with_a_waiting_time(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    memory.sync()
    cloud.server.maintenance()

    with pytest.raises(RemoteBusy) as error:
        memory.sync()

    assert error.value.exit_code == 75
    assert error.value.retry_after
    assert "maintenance" in memory.sync.status()["errors"][0]["reason"]


def test_an_unreachable_server_is_not_treated_as_empty(vaults: Vaults):
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_URL="http://127.0.0.1:9/notes")
    write(memory, "USER.md", "- tea\n")

    with pytest.raises(RemoteUnreachable) as error:
        memory.sync()

    assert error.value.exit_code == 4
    assert (memory.root / "USER.md").exists()


@pytest.mark.parametrize("mark", [".sync_abc.db", ".stfolder", ".owncloudsync.log"])
def test_a_folder_synced_by_another_client_is_refused(vaults: Vaults, cloud: Cloud, mark: str):
    memory = vaults.open("here")
    (memory.root / mark).mkdir() if mark == ".stfolder" else (memory.root / mark).write_text("")

    with pytest.raises(AnotherClient) as error:
        memory.sync()

    assert error.value.exit_code == 3
    assert not cloud.server.log, "nothing was asked"


def test_sync_without_a_remote_is_refused(vaults: Vaults):
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_URL="")

    with pytest.raises(NoRemote):
        memory.sync()
    assert memory.sync.status() is None


def test_two_processes_never_sync_one_vault_at_once(vaults: Vaults):
    memory = vaults.open("here")
    order: list[str] = []

    with alone(memory.vault.state.path, patience=0.0):
        thread = threading.Thread(target=lambda: (memory.sync(), order.append("synced")))
        thread.start()
        thread.join(0.3)
        order.append("let go")
    thread.join(20)

    assert order == ["let go", "synced"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_password_file_that_others_may_read_or_write_is_refused(
    vaults: Vaults, cloud: Cloud, tmp_path: Path, mode: int
):
    file = cloud.password_file(tmp_path)
    file.chmod(mode)
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_PASSWORD_FILE=str(file))

    with pytest.raises(PasswordUnsafe) as error:
        memory.sync()

    assert cloud.server.app_password not in str(error.value)
    assert not cloud.server.log


def test_a_password_file_in_the_vault_is_refused(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here")
    file = cloud.password_file(memory.root)
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_PASSWORD_FILE=str(file))

    with pytest.raises(PasswordUnsafe, match="vault"):
        memory.sync()


def test_the_service_manager_can_supply_the_password(vaults: Vaults, cloud: Cloud, tmp_path: Path):
    (tmp_path / "vault-memory-remote").write_text(cloud.server.app_password)
    memory = vaults.open(
        "here", VAULT_MEMORY_REMOTE_PASSWORD="", CREDENTIALS_DIRECTORY=str(tmp_path)
    )

    memory.sync()

    assert memory.sync.status()["last_good"]


def test_an_account_without_a_password_is_refused_before_any_request(vaults: Vaults, cloud: Cloud):
    memory = vaults.open("here", VAULT_MEMORY_REMOTE_PASSWORD="")

    with pytest.raises(PasswordUnsafe):
        memory.sync()
    assert not cloud.server.log


@pytest.mark.parametrize(
    "url",
    [
        "https://mira:hunter2@example.org/x",
        "http://example.org/x",
        "ftp://example.org",
        "example.org",
        "https://",
    ],
)
def test_an_invalid_address_is_refused_and_not_repeated(vaults: Vaults, url: str):
    with pytest.raises(ConfigError) as error:
        vaults.open("here", VAULT_MEMORY_REMOTE_URL=url)

    assert "hunter2" not in str(error.value)
    assert "remote.url" in str(error.value)
