"""`sync` and `remote` as a person gives them: exit codes, JSON, plain words, and what is written where."""

import os
import pty
import re
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.servers import real
from tests.remote.servers.exchange import Refusing
from tests.remote.servers.front import Front
from tests.scenarios.cloud import Cloud, running_cloud
from tests.scenarios.outside import Outside, until


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with running_cloud() as cloud:
        yield cloud


@pytest.fixture
def vault(outside: Outside) -> Outside:
    """Without a remote."""
    outside.quick = True
    return outside


def add_remote(vault: Outside, cloud: Cloud, *options: str) -> dict[str, object]:
    file = cloud.password_file(vault.home)
    command = (
        "remote",
        "add",
        cloud.url,
        "--user",
        cloud.server.user,
        "--password-file",
        str(file),
        *options,
    )
    return dict(vault.ok(*command))


def test_sync_reports_its_changes_in_json(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    vault.write("USER.md", "- tea\n")

    report = vault.ok("sync", "--once")

    counts = (
        "uploaded",
        "downloaded",
        "merged",
        "deleted_local",
        "deleted_remote",
        "conflicts",
        "requests",
    )
    assert all(type(report[name]) is int for name in counts)
    assert all(
        type(report[name]) is list
        for name in ("skipped", "held", "waiting", "failed", "notes", "copies")
    )
    assert (report["uploaded"], cloud.files()) == (1, {"USER.md": b"- tea\n"})


def test_held_deletes_exit_with_5_and_are_released_by_approval(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    paths = [vault.write(f"n{number}.md", f"- {number}\n") for number in range(12)]
    vault.ok("sync", "--once")
    for path in paths[:11]:
        path.unlink()

    done = vault.run("sync", "--once")

    assert done.code == 5
    assert "held: n0.md: delete remote: 11 of 12 files would be deleted at once" in done.out
    assert "--approve-deletes" in done.out
    assert vault.run("sync", "--once", "--json").json["held"][0]["path"] == "n0.md"
    assert vault.ok("sync", "--approve-deletes")["deleted_remote"] == 11


@pytest.mark.scenario("E94")
def test_a_restored_server_exits_with_5_until_a_person_chooses_a_side(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    notes = [f"n{number}.md" for number in range(4)]
    for note in notes:
        vault.write(note, f"- {note}\n")
    vault.ok("sync", "--once")
    cloud.server.back_up()
    for note in notes:
        vault.write(note, f"- {note}\n- written since\n")
    vault.write("new.md", "- new\n")
    vault.ok("sync", "--once")
    newer = cloud.files()
    cloud.server.restore_from_backup(tells=False)

    done = vault.run("sync", "--once")

    assert done.code == 5
    assert (
        "held: n0.md: download: 4 notes would go back to earlier texts and 1 would be deleted here"
        in done.out
    )
    assert "`vault-memory sync --approve-restore`" in done.out
    assert "`vault-memory sync --refuse-restore` uploads them again" in done.out
    assert "--approve-deletes" not in done.out
    assert (vault.vault / "n0.md").read_text() == "- n0.md\n- written since\n"
    assert {item["path"] for item in vault.ok("status")["sync"]["held"]} == {*notes, "new.md"}
    assert vault.run("sync", "--approve-restore", "--refuse-restore").code == 2
    assert vault.run("sync", "--refuse-restore").code == 0
    assert cloud.files() == newer
    assert vault.run("sync", "--once").code == 0


@pytest.mark.scenario("E94")
def test_a_daemon_reports_a_restored_server_and_deletes_nothing(cloud: Cloud, tmp_path: Path):
    vault = cloud.vault(tmp_path / "one")
    notes = [f"n{number}.md" for number in range(4)]
    for note in notes:
        vault.write(note, f"- {note}\n")
    vault.ok("sync", "--once")
    cloud.server.back_up()
    for note in notes:
        vault.write(note, f"- {note}\n- written since\n")
    vault.ok("sync", "--once")
    with vault.daemon() as daemon:
        cloud.server.restore_from_backup(tells=False)

        status = until(lambda: (found := vault.ok("status"))["sync"]["state"] == "held" and found)

        assert {item["path"] for item in status["sync"]["held"]} == set(notes)
        assert "earlier texts" in status["sync"]["reason"]
        until(lambda: any("held until you answer" in line for line in daemon.errors))
        assert (vault.vault / "n0.md").read_text() == "- n0.md\n- written since\n"


def test_conflicting_texts_of_one_line_become_a_reported_conflict_copy(
    vault: Outside, cloud: Cloud, tmp_path: Path
):
    other = cloud.vault(tmp_path / "other")
    add_remote(vault, cloud)
    vault.write("picture.png", b"one")
    vault.ok("sync", "--once")
    other.ok("sync", "--once")
    vault.write("picture.png", b"mine")
    other.write("picture.png", b"its")
    other.ok("sync", "--once")

    done = vault.run("sync", "--once", "--json")

    report = done.json
    assert done.code == 5
    assert report["conflicts"] == 1
    assert (vault.vault / report["copies"][0]).read_bytes() == b"mine"
    assert report["open_conflicts"] == report["copies"]


def test_an_open_conflict_exits_with_5_until_it_is_settled(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    vault.write("USER.md", "- tea\n")
    copy = vault.write("USER (conflicted copy 2026-01-01 101010).md", "- coffee\n")

    done = vault.run("sync", "--once")
    again = vault.run("sync", "--once")

    assert (done.code, again.code) == (5, 5)
    assert f"open conflict: {copy.name}" in again.out
    assert "vault-memory conflicts" in again.out
    ident = vault.ok("conflicts")["items"][0]["id"]
    assert vault.run("conflicts", "discard", ident).code == 0
    assert vault.run("sync", "--once").code == 0


@pytest.mark.parametrize("name", ["n" * 249 + ".md", "y" * 252 + "/note.md"])
def test_a_name_that_can_never_be_uploaded_is_skipped_without_failure(
    vault: Outside, cloud: Cloud, name: str
):
    add_remote(vault, cloud)
    vault.write(name, "- lamp\n")
    vault.write("USER.md", "- tea\n")

    report = vault.ok("sync", "--once")

    assert report["uploaded"] == 1
    assert any(name.startswith(skipped["path"]) for skipped in report["skipped"])
    assert vault.ok("sync", "--once")["failed"] == []


def test_a_name_this_server_refuses_is_skipped_and_not_retried(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    cloud.server.refuse_names_with("gull")
    note = vault.write("a gull.md", "- lamp\n")

    first, second = vault.ok("sync", "--once"), vault.ok("sync", "--once")
    puts = [seen for seen in cloud.server.log if seen.method == "PUT" and "gull" in seen.path]
    note.write_text("- lamp, trimmed\n")
    third = vault.ok("sync", "--once")

    assert [one["path"] for report in (first, second, third) for one in report["skipped"]] == [
        "a gull.md"
    ] * 3
    assert len(puts) <= 2
    assert len(
        [seen for seen in cloud.server.log if seen.method == "PUT" and "gull" in seen.path]
    ) > len(puts)


def test_queue_counts_the_edits_waiting_for_an_unreachable_server(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    vault.write("USER.md", "- tea\n")
    vault.ok("sync", "--once")
    cloud.server.maintenance()
    vault.write("USER.md", "- tea\n- bread\n")
    for number in range(3):
        vault.write(f"n{number}.md", f"- {number}\n")

    assert vault.run("sync", "--once").code == 75
    assert vault.ok("status")["sync"]["queue"] == 4
    cloud.server.maintenance(False)
    vault.ok("sync", "--once")
    assert vault.ok("status")["sync"]["queue"] == 0


def test_a_daemons_queue_grows_with_each_save_while_the_server_is_unreachable(
    cloud: Cloud, tmp_path: Path
):
    one = cloud.vault(tmp_path)
    one.write("USER.md", "- tea\n")
    with one.daemon() as daemon:
        until(
            lambda: (
                "Notes/USER.md" in cloud.server.files()
                and daemon.ask("status")["sync"]["last_good"]
            )
        )
        cloud.server.maintenance()
        until(lambda: daemon.ask("status")["sync"]["state"] == "waiting")

        for number in range(3):
            one.write(f"n{number}.md", f"- {number}\n")

        until(
            lambda: daemon.ask("status")["sync"]["queue"] == 3,
            says=lambda: daemon.ask("status")["sync"],
        )


@pytest.mark.parametrize(
    ("trouble", "code", "name"),
    [
        ("away", 4, "remote_unreachable"),
        ("refused", 3, "unauthorised"),
        ("maintenance", 75, "remote_busy"),
    ],
)
def test_each_server_problem_has_its_exit_code_and_error_name(
    vault: Outside, cloud: Cloud, trouble: str, code: int, name: str
):
    add_remote(vault, cloud)
    if trouble == "refused":
        cloud.server.revoke(cloud.server.app_password)
    if trouble == "maintenance":
        cloud.server.maintenance()
    if trouble == "away":
        vault.settings["VAULT_MEMORY_REMOTE_URL"] = "http://127.0.0.1:9/notes"

    done = vault.run("sync", "--once", "--json")

    assert (done.code, done.error["code"]) == (code, name)
    assert done.error["hint"]


@pytest.mark.parametrize("status", [423, 429, 503, 507])
def test_a_server_that_cannot_be_set_up_or_tested_now_exits_with_1(vault: Outside, status: int):
    file = vault.home / "secret"
    file.write_text("salt and pepper\n")
    file.chmod(0o600)
    with Front(Refusing(status)) as front:
        account = ("--user", "mira", "--password-file", str(file))
        added = vault.run("remote", "add", f"{front.url}/notes", *account)
        vault.settings |= {
            "VAULT_MEMORY_REMOTE_URL": f"{front.url}/notes",
            "VAULT_MEMORY_REMOTE_USER": "mira",
            "VAULT_MEMORY_REMOTE_PASSWORD": "salt and pepper",
        }
        tested = vault.run("remote", "test")
        synced = vault.run("sync", "--once")

    # Nothing of the first two waits for a later pass; the notes do.
    assert (added.code, tested.code, synced.code) == (1, 1, 75)


def test_a_locked_note_waits_and_the_command_exits_with_75(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    vault.write("USER.md", "- tea\n")
    vault.ok("sync", "--once")
    cloud.server.lock("Notes/USER.md")
    vault.write("USER.md", "- tea\n- bread\n")

    done = vault.run("sync", "--once")

    assert done.code == 75
    assert "failed: USER.md: `USER.md` is locked on the server" in done.out


def test_downloads_continue_when_the_account_is_full(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    cloud.server.other_client_put("Notes/MEMORY.md", b"- gulls\n")
    cloud.server.quota(10)
    vault.write("USER.md", "- tea, and a good deal of it\n")

    done = vault.run("sync", "--once", "--json")

    assert (done.code, done.json.get("error")) == (75, None), done
    assert (vault.vault / "MEMORY.md").read_bytes() == b"- gulls\n"
    assert done.json["failed"] == [
        {"path": "USER.md", "reason": "the server has no space left for this account"}
    ]
    assert vault.ok("status")["sync"]["queue"] == 1, done.json["waiting"]


@pytest.mark.scenario("E99")
def test_an_overloaded_server_is_reported_and_not_asked_again(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    for _ in range(12):
        cloud.server.door._wrong.setdefault("127.0.0.1", []).append(cloud.server.clock())
    asked = len(cloud.server.log)

    done = vault.run("sync", "--once", "--json")

    assert (done.code, done.error["code"]) == (75, "remote_busy")
    assert len(cloud.server.log) - asked <= 2


def test_remote_add_keeps_the_configuration_and_remote_test_reports_capabilities(
    vault: Outside, cloud: Cloud
):
    vault.ok("index")
    config = vault.state / "vault-memory.toml"
    config.write_bytes(b"# my own\r\n[recall]\r\nlimit = 4\r\n")

    tried = add_remote(vault, cloud)

    assert tried["two_way"] is True
    assert config.read_bytes().startswith(
        b"# my own\r\n[recall]\r\nlimit = 4\r\n\r\n[remote]\r\nurl = "
    )
    said = vault.run("remote", "test").out
    assert "an edit never overwrites a newer one" in said
    assert "safe to sync both ways" in said
    assert vault.ok("remote", "status")["server"] == cloud.url
    assert vault.ok("remote", "remove") == {"removed": cloud.url}
    assert config.read_bytes().rstrip() == b"# my own\r\n[recall]\r\nlimit = 4"
    assert vault.run("remote", "status").code == 3


def test_adding_a_nextcloud_creates_the_folder_in_its_files(vault: Outside, cloud: Cloud):
    file = cloud.password_file(vault.home)

    tried = vault.ok(
        "remote",
        "add",
        cloud.start,
        "--user",
        "mira",
        "--password-file",
        str(file),
        "--folder",
        "Gull Rock",
    )

    assert tried["server"] == f"{cloud.start}/remote.php/dav/files/mira/Gull%20Rock"
    assert (tried["kind"], tried["created"]) == ("Nextcloud", True)
    vault.write("USER.md", "- tea\n")
    assert vault.ok("sync", "--once")["uploaded"] == 1
    assert cloud.server.files()["Gull Rock/USER.md"] == b"- tea\n"


@pytest.mark.parametrize("server", ["nextcloud", "apache"])
def test_a_folder_is_created_with_its_parents(vault: Outside, cloud: Cloud, server: str):
    if server == "apache" and (reason := real.missing("apache")):
        pytest.skip(reason)
    apache = real.start("apache") if server == "apache" else None
    try:
        file = cloud.password_file(vault.home)
        user, url = cloud.server.user, cloud.start
        if apache:
            file.write_text(apache.password)
            user, url = apache.user, apache.url
        command = (
            "remote",
            "add",
            url,
            "--user",
            user,
            "--password-file",
            str(file),
            "--folder",
            "x/ÿ z/w",
        )

        assert vault.ok(*command)["created"] is True
        assert vault.ok(*command)["created"] is False
        vault.write("USER.md", "- tea\n")
        assert vault.ok("sync", "--once")["uploaded"] == 1
        if apache:
            assert (apache.root_dir / "x/ÿ z/w/USER.md").read_bytes() == b"- tea\n"
        else:
            assert cloud.server.files()["x/ÿ z/w/USER.md"] == b"- tea\n"
    finally:
        if apache:
            apache.stop()


def test_a_browser_link_to_a_folder_needs_no_folder_option(vault: Outside, cloud: Cloud):
    file = cloud.password_file(vault.home)
    link = f"{cloud.start}/index.php/apps/files/?dir=/Gull%20Rock&fileid=12"

    tried = vault.ok("remote", "add", link, "--user", "mira", "--password-file", str(file))

    assert tried["server"] == f"{cloud.start}/remote.php/dav/files/mira/Gull%20Rock"


def test_a_public_share_is_refused_with_a_specific_error(vault: Outside, cloud: Cloud):
    done = vault.run("remote", "add", f"{cloud.start}/s/Tq7wZb2mKp9LxYc", "--user", "mira")

    assert done.code == 3
    assert "public share" in done.err


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("cloud.example.org", "https://cloud.example.org"),
        ("davs://dav.example.org/x", "https://dav.example.org/x"),
    ],
)
def test_an_address_without_https_is_refused_with_the_right_address(
    vault: Outside, typed: str, instead: str
):
    done = vault.run("remote", "add", typed, "--user", "mira")

    assert done.code == 3
    assert f"write `{instead}`" in done.err


def test_a_file_without_certificates_is_refused(vault: Outside, cloud: Cloud):
    file = cloud.password_file(vault.home)
    command = (
        "remote",
        "add",
        cloud.url,
        "--user",
        "mira",
        "--password-file",
        str(file),
        "--ca-file",
    )

    done = vault.run(*command, str(file))

    assert done.code == 3
    assert "no certificate can be read" in done.err
    assert "no certificate can be read" in vault.run(*command, "/nowhere.pem").err


def test_only_errors_that_are_retried_are_reported_as_retried(vault: Outside, cloud: Cloud):
    file = cloud.password_file(vault.home)
    done = vault.run(
        "remote", "add", "http://127.0.0.1:9/x", "--user", "mira", "--password-file", str(file)
    )

    assert done.code == 4
    assert "by itself" not in done.err
    assert "check the address" in done.err


def test_a_locked_out_address_is_reported_with_its_waiting_time(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    for _ in range(12):
        cloud.server.door._wrong.setdefault("127.0.0.1", []).append(cloud.server.clock())

    done = vault.run("sync", "--once")

    assert done.code == 75
    assert "locked out the address of this machine" in done.err
    assert "half an hour" in done.err


def test_the_browser_login_creates_an_app_password_that_is_never_shown(
    outside: Outside, cloud: Cloud
):
    command = outside.command("remote", "add", cloud.start, "--login", "--folder", "Notes")
    process = subprocess.Popen(
        command,
        env=outside.environment,
        cwd=outside.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = [process.stderr.readline(), process.stderr.readline()]
    page = said[1].strip()
    assert page.startswith(cloud.start)

    cloud.server.grant(page)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    password = (outside.state / "remote-password").read_text().strip()
    assert cloud.server.door.app_passwords[password] == "mira"
    assert stat.S_IMODE((outside.state / "remote-password").stat().st_mode) == 0o600
    assert password not in out + err + "".join(said)
    assert password not in (outside.state / "vault-memory.toml").read_text()
    assert outside.ok("sync", "--once")["failed"] == []
    outside.ok("remote", "remove")
    assert not (outside.state / "remote-password").exists()


def test_the_password_is_asked_for_on_a_terminal_and_not_echoed(outside: Outside, cloud: Cloud):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        outside.command("remote", "add", cloud.url, "--user", "mira"),
        env=outside.environment,
        cwd=outside.home,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = bytearray()

    def drain() -> None:
        try:
            while piece := os.read(master, 4096):
                shown.extend(piece)
        except OSError:
            return

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    until(lambda: b"App password of mira" in shown, says=lambda: bytes(shown))
    os.write(master, cloud.server.app_password.encode() + b"\n")
    assert process.wait(120) == 0, bytes(shown)
    thread.join(5)
    os.close(master)

    assert cloud.server.app_password.encode() not in shown
    assert (outside.state / "remote-password").read_text().strip() == cloud.server.app_password


def test_nothing_is_asked_without_a_terminal(vault: Outside, cloud: Cloud):
    done = vault.run(
        "remote", "add", cloud.url, "--user", "mira", "--json", stdin=subprocess.DEVNULL
    )

    assert (done.code, done.error["code"]) == (2, "cannot_ask")
    assert "--password-file" in done.error["hint"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://mira:hunter2@example.org/dav", "user or password"),
        ("http://example.org/dav", "unencrypted"),
        ("example.org", "not the URL"),
    ],
)
def test_an_invalid_address_is_refused_without_repeating_its_password(
    vault: Outside, url: str, words: str
):
    done = vault.run("remote", "add", url, "--user", "mira")

    assert done.code == 3
    assert words in done.err
    assert "hunter2" not in done.out + done.err


def test_a_wrong_password_is_not_stored(vault: Outside, cloud: Cloud):
    file = cloud.password_file(vault.home)
    file.write_text("wrong")

    done = vault.run(
        "remote", "add", cloud.url, "--user", "mira", "--password-file", str(file), "--json"
    )

    assert (done.code, done.error["code"]) == (3, "unauthorised")
    assert not (vault.state / "vault-memory.toml").exists()


def test_a_server_that_ignores_preconditions_is_refused_for_two_way_sync(vault: Outside):
    if reason := real.missing("nginx"):
        pytest.skip(reason)
    server = real.start("nginx")
    try:
        secret = vault.home / "secret"
        secret.write_text(server.password)
        secret.chmod(0o600)
        url = server.make_folder("notes")
        command = ("remote", "add", url, "--user", server.user, "--password-file", str(secret))

        assert vault.run(*command, "--json").error["code"] == "not_two_way"
        assert vault.ok(*command, "--mode", "push")["two_way"] is False
        assert "not safe to sync both ways" in vault.run("remote", "test").out
    finally:
        server.stop()


def test_another_server_starts_with_an_empty_sync_state(vault: Outside, cloud: Cloud):
    add_remote(vault, cloud)
    vault.write("USER.md", "- tea\n")
    vault.ok("sync", "--once")
    cloud.server.other_client_mkcol("Elsewhere")
    file = cloud.password_file(vault.home)
    elsewhere = re.sub("Notes$", "Elsewhere", cloud.url)

    vault.ok("remote", "add", elsewhere, "--user", "mira", "--password-file", str(file))

    assert vault.ok("sync", "--once")["uploaded"] == 1
    assert (vault.vault / "USER.md").exists()


def test_sync_runs_in_the_foreground_until_it_is_stopped(cloud: Cloud, tmp_path: Path):
    one, other = (cloud.vault(tmp_path / "one"), cloud.vault(tmp_path / "other", quick=True))
    one.write("USER.md", "- tea\n")
    process = subprocess.Popen(
        one.command("sync"),
        env=one.environment,
        cwd=one.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: "USER.md" in cloud.files())
        one.write("USER.md", "- tea\n- bread\n")
        until(lambda: b"bread" in cloud.files()["USER.md"])
        other.write("MEMORY.md", "- gulls\n")
        other.ok("sync", "--once")
        until(lambda: (one.vault / "MEMORY.md").exists())
    finally:
        process.terminate()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "1 uploaded" in out
    assert "stopped" in err


def test_sync_asks_a_running_daemon_and_once_waits_for_its_pass(cloud: Cloud, tmp_path: Path):
    one = cloud.vault(tmp_path, VAULT_MEMORY_REMOTE_POLL_SECONDS="600")
    with one.daemon() as daemon:
        until(lambda: daemon.ask("status")["sync"]["last_good"])
        cloud.server.other_client_put("Notes/MEMORY.md", b"- gulls\n")

        assert "the daemon syncs" in one.run("sync").out
        daemon.until_found("gulls")
        one.write("USER.md", "- tea\n")
        assert one.run("sync", "--once").code == 0
        assert cloud.files()["USER.md"] == b"- tea\n"


def test_doctor_reports_the_sync_state_without_asking_the_server(vault: Outside, cloud: Cloud):
    def checks() -> list[tuple[str, str]]:
        return [
            (one["state"], one["reason"])
            for one in vault.run("doctor", "--json").json["checks"]
            if one["name"] == "sync"
        ]

    assert checks() == [("ok", "no remote is set up")]
    add_remote(vault, cloud)
    vault.ok("sync", "--once")
    assert checks()[0][1].startswith(f"{cloud.url}: last in step 20")

    cloud.server.maintenance()
    vault.run("sync", "--once")
    asked = len(cloud.server.log)
    assert checks() == [("warn", "the server is in maintenance")]
    (vault.home / "secret").chmod(0o644)
    assert checks()[0][0] == "fail"
    assert len(cloud.server.log) == asked


def test_without_a_remote_every_sync_command_explains_how_to_add_one(vault: Outside):
    for command in (
        ("sync",),
        ("sync", "--once"),
        ("remote", "test"),
        ("remote", "status"),
        ("remote", "remove"),
    ):
        done = vault.run(*command)
        assert done.code == 3, command
        assert "remote add" in done.err
    assert vault.ok("status")["sync"] is None
