"""A text that a person takes back leaves the home, its versions, the ledger and all hosts."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.addons.fleet.running import OperatedFleet, running_host, until
from tests.contract.shapes import problems
from tests.remote.servers.faults import Answer, Rule, Script
from tests.remote.servers.s3_proxy import S3Proxy
from vault_memory.addons.fleet import fleet_forget
from vault_memory.addons.fleet.bundle_store import NAME
from vault_memory.cli import main
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/ann/bot/config/USER.md"
SECRET = "mackerel allergy"
TEXT = f"# Ann\n\n## Likes\n\n- tea\n- {SECRET}\n"

FORBIDDEN = Answer(
    403,
    {"Content-Type": "application/xml"},
    b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>",
)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    note = root / NOTE
    note.parent.mkdir(parents=True)
    note.write_text(TEXT)
    ensure_marker(root)
    return root


def _everything_in_bucket(fleet: OperatedFleet, home: str) -> list[tuple[str, bytes]]:
    """The bytes of all versions of all keys of a home."""
    client = fleet.store.boto()
    bucket, _, prefix = home.removeprefix("s3://").partition("/")
    listing = client.list_object_versions(Bucket=bucket, Prefix=prefix)
    return [
        (
            item["Key"].removeprefix(f"{prefix}/"),
            client.get_object(Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])[
                "Body"
            ].read(),
        )
        for item in listing["Versions"]
    ]


def test_a_forgotten_text_is_nowhere_that_the_fleet_reaches(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    home = fleet_of_hosts.store.new_url(versions=True)
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    with running_host(fleet_of_hosts, "east") as east:
        found = east.ask(added["token"], "/v1/search", query="mackerel")
        assert found.json()["hits"]
        words = f"I told you about my {SECRET}"
        turn = {"session": "s", "role": "user", "text": words}
        assert east.ask(added["token"], "/v1/turns", **turn).status_code == 200
        drained = fleet_of_hosts.ask("fleet", "drain", "east")
        assert drained == {"host": "east"}
        assert east.process.wait(120) == 0
    assert (fleet_of_hosts.folder / "scratch" / "east").exists()
    preview = fleet_of_hosts.ask("fleet", "forget", "ann", SECRET, "--dry-run")
    assert preview["forgotten"]["receipt"] is None
    with running_host(fleet_of_hosts, "east") as east:
        arguments = ("fleet", "forget", "ann", SECRET, "--yes")
        done = fleet_of_hosts.command(*arguments, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert not problems(arguments, done.stdout), done.stdout
        answer = fleet_of_hosts.ask("fleet", "forget", "ann", SECRET, "--yes")
        assert answer["forgotten"]["matches"] == 0
        after = east.ask(added["token"], "/v1/search", query="mackerel")
        assert "mackerel" not in after.text.partition('"hits"')[2]
        until(lambda: "east" in done.stdout)
    assert "backups" in done.stdout
    versions = _everything_in_bucket(fleet_of_hosts, home)
    assert sum(path == NAME for path, _ in versions) >= 1
    assert [path for path, raw in versions if SECRET.encode() in raw] == []
    for file in (fleet_of_hosts.folder / "scratch").rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file
    for file in fleet_of_hosts.ledger_file.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


def _forget_through(fleet: OperatedFleet, script: Script) -> Any:
    """The answer of `fleet forget` when a proxy before the store follows this script."""
    with S3Proxy(fleet.store.endpoint, script) as proxy:
        config = fleet.folder / "operator.toml"
        text = config.read_text()
        config.write_text(text.replace(fleet.store.endpoint, proxy.url))
        return fleet.ask("fleet", "forget", "ann", SECRET, "--yes")


def test_the_receipt_names_versions_that_the_account_may_not_delete(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    home = fleet_of_hosts.store.new_url(versions=True)
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    script = Script([Rule(FORBIDDEN, "DELETE", "versionId", times=None)])
    answer = _forget_through(fleet_of_hosts, script)
    assert answer["forgotten"]["receipt"], answer
    assert any("may not delete" in place for place in answer["unreached"])


def test_the_receipt_names_files_that_are_too_large_for_sync(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    (vault / "waves.txt").write_bytes(SECRET.encode() + b" waves" * 2_000_000)
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    answer = fleet_of_hosts.ask("fleet", "forget", "ann", SECRET, "--yes")
    assert answer["forgotten"]["receipt"], answer
    assert "1 files of the home that are too large to be read" in answer["unreached"]


def test_the_receipt_names_versions_that_the_account_may_not_read(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    home = fleet_of_hosts.store.new_url(versions=True)
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    script = Script([Rule(FORBIDDEN, "GET", "USER.md?versionId", times=None)])
    answer = _forget_through(fleet_of_hosts, script)
    assert script.happened
    assert answer["forgotten"]["receipt"], answer
    assert any("cannot read" in place for place in answer["unreached"])


def test_a_text_is_forgotten_only_when_that_is_said(operated: OperatedFleet) -> None:
    answer = operated.ask("fleet", "forget", "ann", SECRET)
    assert answer["error"]["code"] == "cannot_ask"


@pytest.mark.sampled
def test_a_copy_on_a_host_that_does_not_answer_is_named_and_exits_with_1(
    fleet_of_hosts: OperatedFleet, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    with running_host(fleet_of_hosts, "east") as east:
        assert east.ask(added["token"], "/v1/search", query="x").status_code == 200
        assert fleet_of_hosts.ask("fleet", "drain", "east")
        assert east.process.wait(120) == 0
    monkeypatch.setattr(fleet_forget, "HOST_SECONDS", 0.0)
    for name, value in fleet_of_hosts.environment.items():
        monkeypatch.setenv(name, value)
    config = str(fleet_of_hosts.folder / "operator.toml")
    arguments = ["fleet", "forget", "ann", SECRET, "--yes", "--config", config]

    output = io.StringIO()
    with redirect_stdout(output), pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 1
    assert "not reached: the local copy on the host `east`" in output.getvalue()
