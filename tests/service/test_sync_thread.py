"""Daemons that keep vaults in step through a server: real processes, real requests."""

import json
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.remote.servers import real
from tests.scenarios.cloud import Cloud, running_cloud
from tests.scenarios.outside import Outside, until
from vault_memory.remote.http_transport import SILENCE

NOTE = "# Me\n\n## Tea\n\n- green\n"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with running_cloud() as cloud:
        yield cloud


def sync_of(daemon: object) -> dict[str, object]:
    return dict(daemon.ask("status")["sync"])  # type: ignore[attr-defined]


def until_sync(daemon: object, fits: Callable[[dict[str, object]], object]) -> dict[str, object]:
    until(lambda: fits(sync_of(daemon)), pause=0.05, says=lambda: sync_of(daemon))
    return sync_of(daemon)


def test_an_edit_in_one_vault_is_found_in_the_other(cloud: Cloud, tmp_path: Path):
    one, other = cloud.vault(tmp_path / "one"), cloud.vault(tmp_path / "other")
    one.write("USER.md", NOTE)
    with one.daemon() as here, other.daemon() as there:
        there.until_found("green")
        until_sync(here, lambda sync: sync["state"] == "ok")

        one.write("USER.md", NOTE + "- lapsang from the pier\n")
        there.until_found("lapsang")

        other.write("MEMORY.md", "- likes rye bread\n")
        here.until_found("rye bread")
        (other.vault / "picture.png").write_bytes(b"\x89PNG\x00")
        until(lambda: (one.vault / "picture.png").exists(), says="a picture travels, too")
    assert (one.vault / "USER.md").read_bytes() == (other.vault / "USER.md").read_bytes()


def test_a_local_edit_is_uploaded_without_waiting_for_the_next_poll(cloud: Cloud, tmp_path: Path):
    one = cloud.vault(tmp_path, VAULT_MEMORY_REMOTE_POLL_SECONDS="600")
    one.write("USER.md", NOTE)
    with one.daemon() as daemon:
        until_sync(daemon, lambda sync: sync["last_good"])
        until(lambda: "USER.md" in cloud.files())
        until_sync(daemon, lambda sync: sync["state"] == "ok")
        time.sleep(
            2.5
        )  # the server's tags are of whole seconds: younger ones would be looked at again
        asked = len(cloud.server.log)

        one.write("USER.md", NOTE + "- white\n")
        until(lambda: b"white" in cloud.files()["USER.md"])

        asked_for = [seen for seen in cloud.server.log[asked:] if "/versions/" not in seen.path]
        depths = {seen.headers.get("depth") for seen in asked_for if seen.method == "PROPFIND"}
        assert depths <= {"0"}, "nothing is listed for that"


def test_an_edit_travels_between_vaults_through_a_plain_webdav_server(tmp_path: Path):
    server = real.start_wsgidav()
    try:
        settings = {
            "VAULT_MEMORY_REMOTE_URL": server.make_folder("notes"),
            "VAULT_MEMORY_REMOTE_USER": server.user,
            "VAULT_MEMORY_REMOTE_PASSWORD": server.password,
            "VAULT_MEMORY_REMOTE_POLL_SECONDS": "0.5",
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        }
        vaults = []
        for name in ("one", "other"):
            vault, home = tmp_path / name / "vault", tmp_path / name / "home"
            vault.mkdir(parents=True)
            home.mkdir()
            vaults.append(Outside(vault, home, settings, quick=True))
        one, other = vaults
        one.write("USER.md", NOTE)
        with one.daemon() as here, other.daemon() as there:
            there.until_found("green")
            other.write("USER.md", NOTE + "- oolong\n")
            here.until_found("oolong")
    finally:
        server.stop()


@pytest.mark.scenario("E84")
def test_a_revoked_password_stops_all_requests_until_it_is_replaced(cloud: Cloud, tmp_path: Path):
    file = cloud.password_file(tmp_path)
    settings = {"VAULT_MEMORY_REMOTE_PASSWORD": "", "VAULT_MEMORY_REMOTE_PASSWORD_FILE": str(file)}
    one = cloud.vault(tmp_path / "one", **settings)
    one.write("USER.md", NOTE)
    with one.daemon() as daemon:
        until_sync(daemon, lambda sync: sync["last_good"])
        cloud.server.revoke(cloud.server.app_password)
        asked = len(cloud.server.log)
        stopped = until_sync(daemon, lambda sync: sync["state"] == "stopped")
        refused = len(cloud.server.log) - asked

        one.write("USER.md", NOTE + "- white\n")
        daemon.until_found("white")
        time.sleep(1.2)  # more than two polls: nothing may come, so there is nothing to wait for

        assert "refuse" in str(stopped["reason"])
        assert len(cloud.server.log) - asked == refused <= 3
        file.write_text(cloud.server.door.new_app_password(cloud.server.user))
        until(lambda: b"white" in cloud.files().get("USER.md", b""))
        until_sync(daemon, lambda sync: sync["state"] == "ok")


@pytest.mark.scenario("E97")
def test_maintenance_is_shown_in_the_status_and_ends(cloud: Cloud, tmp_path: Path):
    one = cloud.vault(tmp_path)
    one.write("USER.md", NOTE)
    with one.daemon() as daemon:
        until_sync(daemon, lambda sync: sync["last_good"])
        cloud.server.maintenance()
        waiting = until_sync(daemon, lambda sync: "maintenance" in str(sync["reason"]))

        assert waiting["state"] == "waiting"
        assert waiting["next_try"]
        assert daemon.finds("green"), "everything else goes on"
    cloud.server.maintenance(False)
    with one.daemon() as daemon:
        until_sync(daemon, lambda sync: sync["state"] == "ok" and not sync["errors"])


def test_a_locked_note_waits_and_the_others_are_synced(cloud: Cloud, tmp_path: Path):
    one = cloud.vault(tmp_path)
    one.write("USER.md", NOTE)
    with one.daemon() as daemon:
        until(lambda: "USER.md" in cloud.files())
        cloud.server.lock("Notes/USER.md")
        one.write("USER.md", NOTE + "- white\n")
        one.write("Users/ann/USER.md", "- rye\n")
        until(lambda: "Users/ann/USER.md" in cloud.files())
        waiting = until_sync(daemon, lambda sync: sync["errors"])
        assert "USER.md" in str(waiting["errors"])
        tries = len(cloud.server.requests("PUT"))
        time.sleep(1.2)  # more than two polls
        assert len(cloud.server.requests("PUT")) - tries <= 1, (
            "what is locked is not asked for at every poll"
        )
        cloud.server.unlock("Notes/USER.md")
        until(lambda: b"white" in cloud.files()["USER.md"])


def test_another_folder_at_the_same_address_is_left_alone_until_approved(
    cloud: Cloud, tmp_path: Path
):
    one = cloud.vault(tmp_path)
    for number in range(4):
        one.write(f"notes/n{number}.md", f"- {number}\n")
    with one.daemon() as daemon:
        until(lambda: len(cloud.files()) == 4)
        cloud.server.other_client_delete("Notes")
        cloud.server.other_client_mkcol("Notes")
        cloud.server.other_client_put("Notes/its.md", b"- its\n")
        until_sync(
            daemon, lambda sync: str(sync["reason"]).startswith("the server is not as it was")
        )

        assert set(cloud.files()) == {"its.md"}
        assert one.run("sync", "--once").code == 5
        assert one.run("sync", "--approve-deletes").code == 0
        until_sync(daemon, lambda sync: sync["state"] == "ok" and not sync["held"])
    assert len(cloud.files()) == len(list(one.vault.rglob("*.md"))) == 5, (
        "both folders become one, and nothing is lost"
    )


def test_a_folder_of_another_client_is_not_synced_and_everything_else_runs(
    cloud: Cloud, tmp_path: Path
):
    one = cloud.vault(tmp_path)
    one.write("USER.md", NOTE)
    (one.vault / ".sync_1234.db").write_text("")
    with one.daemon() as daemon:
        stopped = until_sync(daemon, lambda sync: sync["state"] == "stopped")

        assert "Nextcloud client" in str(stopped["reason"])
        assert daemon.finds("green")
        assert not cloud.server.log
    assert one.run("sync", "--once").code == 3


def test_a_daemon_stops_at_once_although_the_server_never_answers(cloud: Cloud, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/notes"
        one = cloud.vault(tmp_path, VAULT_MEMORY_REMOTE_URL=url)
        one.write("USER.md", NOTE)
        with one.daemon() as daemon:
            connection, _ = deaf.accept()
            with connection:
                assert sync_of(daemon)["state"] == "working"
                assert daemon.finds("green"), "and nothing else waits for it"
                code, seconds = daemon.stop()

    assert code == 0
    assert seconds < SILENCE, "the sync would wait for so long"


@pytest.mark.sampled
@pytest.mark.parametrize("rounds", [3, pytest.param(6, marks=pytest.mark.deep)])
def test_daemons_killed_during_a_sync_converge(cloud: Cloud, tmp_path: Path, rounds: int):
    one, other = cloud.vault(tmp_path / "one"), cloud.vault(tmp_path / "other")
    for number in range(30):
        one.write(f"notes/n{number}.md", f"- here {number}\n" * 5)
        other.write(f"notes/m{number}.md", f"- there {number}\n" * 5)
    for round_ in range(rounds):
        before = len(cloud.server.log)
        with one.daemon(ready=False) as here, other.daemon(ready=False) as there:
            until(
                lambda before=before, round_=round_: (
                    len(cloud.server.log) > before + 20 + 7 * round_
                )
            )
            here.kill()
            there.kill()
        one.write("notes/n1.md", f"- edited {round_}\n")

    def files(vault: Outside) -> dict[str, bytes]:
        found = (
            path
            for path in vault.vault.rglob("*")
            if path.is_file() and not path.name.startswith(".")
        )
        return {path.relative_to(vault.vault).as_posix(): path.read_bytes() for path in found}

    reports = [vault.run("sync", "--once", "--json") for vault in (one, other, one, other)]
    there = {
        path: raw
        for path, raw in cloud.files().items()
        if not path.startswith("vault-memory-probe-")
    }
    assert files(one) == files(other) == there, reports
    assert len(files(one)) == 60
    assert files(one)["notes/n1.md"] == f"- edited {rounds - 1}\n".encode()


def test_a_sync_after_a_crash_completes_the_truncated_upload(cloud: Cloud, tmp_path: Path):
    one = cloud.vault(tmp_path)
    one.write("USER.md", NOTE)
    one.run("sync", "--once")
    one.write("USER.md", f"{NOTE}- oolong\n")
    cloud.server.kill_next_put_at(5)
    one.run("sync", "--once")

    done = one.run("sync", "--once")

    assert done.code == 0
    assert cloud.files()["USER.md"] == f"{NOTE}- oolong\n".encode()


@pytest.mark.scenario("H126")
def test_the_password_is_in_no_log_error_status_audit_or_process_list(cloud: Cloud, tmp_path: Path):
    file = cloud.password_file(tmp_path)
    settings = {"VAULT_MEMORY_REMOTE_PASSWORD": "", "VAULT_MEMORY_REMOTE_PASSWORD_FILE": str(file)}
    one = cloud.vault(tmp_path / "one", quick=False, **settings)
    one.write("USER.md", NOTE)
    told: list[str] = []
    with one.daemon() as daemon:
        until_sync(daemon, lambda sync: sync["last_good"])
        lines = [
            entry.read_bytes()
            for entry in Path("/proc").glob("[0-9]*/cmdline")
            if os.access(entry, os.R_OK)
        ]
        told += [line.decode("utf-8", "replace") for line in lines]
        told.append(json.dumps(daemon.ask("status")))
        one.run("append", "USER.md", "Tea", "lapsang")
        cloud.server.revoke(cloud.server.app_password)
        for command in (("sync", "--once"), ("remote", "test"), ("doctor",)):
            done = one.run("--verbose", *command)
            told += [done.out, done.err]
        until_sync(daemon, lambda sync: sync["state"] == "stopped")
        told += [*daemon.errors, *daemon.lines, json.dumps(daemon.ask("status"))]
    secret = cloud.server.app_password
    assert secret
    forms = re.compile("|".join(map(re.escape, (secret, _basic(cloud)))))
    assert not [text for text in told if forms.search(text)]
    for path in (
        path for folder in (one.vault, one.home) for path in folder.rglob("*") if path.is_file()
    ):
        assert not forms.search(path.read_bytes().decode("latin-1")), path
    private = [path for path in (one.home / "state").rglob("sync*") if path.is_file()]
    assert private
    assert not [path for path in private if stat.S_IMODE(path.parent.stat().st_mode) & 0o077]


def _basic(cloud: Cloud) -> str:
    from base64 import b64encode

    return b64encode(f"{cloud.server.user}:{cloud.server.app_password}".encode()).decode()


def test_a_remote_added_while_the_daemon_runs_is_synced_without_a_restart(
    cloud: Cloud, tmp_path: Path
):
    file = cloud.password_file(tmp_path)
    none = dict.fromkeys(cloud.settings, "")
    one = cloud.vault(tmp_path / "one")
    one.settings = {name: value for name, value in {**one.settings, **none}.items() if value}
    one.write("USER.md", NOTE)
    with one.daemon() as daemon:
        assert daemon.ask("status")["sync"] is None
        added = one.run(
            "remote", "add", cloud.url, "--user", cloud.server.user, "--password-file", str(file)
        )
        assert added.code == 0, added
        until(lambda: "USER.md" in cloud.files())
        until_sync(daemon, lambda sync: sync["state"] == "ok")
