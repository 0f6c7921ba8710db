"""An operator adds vaults to a fleet and takes them out again; nothing is lost on either way."""

import json
import stat
from pathlib import Path

import pytest

from tests.addons.fleet.running import ON_BOTH, ON_POSTGRES, OperatedFleet
from tests.contract.shapes import problems
from tests.remote.servers.exchange import Refusing
from tests.remote.servers.front import Front
from vault_memory.addons.fleet.ledger.local import LocalLedger
from vault_memory.http.tokens import token_digest
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/ann/bot/config/USER.md"
TEXT = "# Ann\n\n## Likes\n\n- tea\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A local vault with a note and a picture."""
    root = tmp_path / "notes"
    note = root / NOTE
    note.parent.mkdir(parents=True)
    note.write_text(TEXT)
    (root / "harbour.png").write_bytes(bytes(range(256)))
    ensure_marker(root)
    return root


def _files(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(file.relative_to(root)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in root.rglob("*")
        if stat.S_ISREG(file.lstat().st_mode)
    }


@ON_BOTH
def test_a_ledger_is_made_once(operated: OperatedFleet) -> None:
    missing = operated.ask("fleet", "status")
    assert missing["error"]["code"] == "ledger_missing"
    first = operated.ask("fleet", "init")
    assert operated.ask("fleet", "init") == first


@pytest.mark.sampled
def test_a_local_vault_is_copied_and_stays_as_it_was(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    before = _files(vault)
    home = fleet_of_hosts.store.new_url()
    arguments = ("fleet", "add", "ann", "--home", home, "--from", str(vault))
    done = fleet_of_hosts.command(*arguments, "--json")
    added = fleet_of_hosts.ask("fleet", "status")
    assert not problems(arguments, done.stdout), done.stdout
    assert [row["name"] for row in added["vaults"]] == ["ann"]
    assert _files(vault) == before
    assert fleet_of_hosts.texts(home) == {NOTE: TEXT.encode(), "harbour.png": bytes(range(256))}


@ON_BOTH
def test_what_was_copied_comes_back_as_it_was(
    fleet_of_hosts: OperatedFleet, vault: Path, tmp_path: Path
) -> None:
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    back = tmp_path / "back"
    exported = fleet_of_hosts.ask("fleet", "export", "ann", str(back))
    assert exported == {"folder": str(back), "files": 2}
    assert (back / NOTE).read_text() == TEXT
    status = fleet_of_hosts.ask("fleet", "status")
    assert [row["holder"] for row in status["vaults"]] == [""]
    assert not problems(("fleet", "status"), str(status).replace("'", '"'))
    again = fleet_of_hosts.ask("fleet", "export", "ann", str(back))
    assert again["error"]["code"] == "usage_error"


def test_a_file_that_is_too_large_for_sync_comes_back_too(
    fleet_of_hosts: OperatedFleet, vault: Path, tmp_path: Path
) -> None:
    recording = b"waves " * 2_000_000
    (vault / "sea").mkdir()
    (vault / "sea" / "waves.wav").write_bytes(recording)
    (vault / "sea" / "waves.jsonl").write_bytes(recording)
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    back = tmp_path / "back"
    exported = fleet_of_hosts.ask("fleet", "export", "ann", str(back))
    assert exported == {"folder": str(back), "files": 4}
    assert (back / "sea" / "waves.wav").read_bytes() == recording
    assert (back / "sea" / "waves.jsonl").stat().st_mode & 0o077 == 0


def _in_other_letters(home: str) -> str:
    bucket, _, prefix = home.removeprefix("s3://").partition("/")
    return f"S3://{bucket}//%{ord(prefix[0]):02x}{prefix[1:]}"


@pytest.mark.sampled
@pytest.mark.parametrize(
    "same", ["name", "home", "home in other letters", "folder in the home", "vault"]
)
def test_a_vault_that_is_added_twice_changes_nothing(
    fleet_of_hosts: OperatedFleet, vault: Path, same: str
) -> None:
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    before = fleet_of_hosts.texts(home)
    name = "ann" if same == "name" else "bo"
    other = {
        "home": home,
        "home in other letters": _in_other_letters(home),
        "folder in the home": f"{home}/Users",
    }
    url = other.get(same, fleet_of_hosts.store.new_url())
    source = ["--from", str(vault)] if same == "vault" else []
    answer = fleet_of_hosts.ask("fleet", "add", name, "--home", url, *source)
    assert answer["error"]["code"] == "vault_added_twice"
    assert fleet_of_hosts.texts(home) == before
    assert len(fleet_of_hosts.ask("fleet", "status")["vaults"]) == 1


def test_a_home_of_another_fleet_is_refused(
    fleet_of_hosts: OperatedFleet, vault: Path, tmp_path: Path
) -> None:
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    folder = tmp_path / "other"
    folder.mkdir()
    other = OperatedFleet(folder, fleet_of_hosts.postgres, fleet_of_hosts.store)
    other.ask("fleet", "init")
    answer = other.ask("fleet", "add", "ann", "--home", home)
    assert answer["error"]["code"] == "another_fleet"
    assert other.ask("fleet", "status")["vaults"] == []


def test_a_home_with_another_note_keeps_it(fleet_of_hosts: OperatedFleet, vault: Path) -> None:
    home = fleet_of_hosts.store.new_home()
    remote = fleet_of_hosts.store.open(home)
    remote.put(NOTE, b"# Another Ann\n", expected=None)
    remote.close()
    answer = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    assert answer["error"]["code"] == "home_in_use"
    assert fleet_of_hosts.texts(home)[NOTE] == b"# Another Ann\n"
    assert fleet_of_hosts.ask("fleet", "status")["vaults"] == []


@ON_POSTGRES
def test_a_password_in_the_configuration_is_refused_and_not_shown(operated: OperatedFleet) -> None:
    operated.database = operated.database.replace("keeper@", "keeper:lantern@")
    operated.config("operator")
    done = operated.command("fleet", "status")
    assert done.returncode == 3
    assert "password_file" in done.stderr
    assert "lantern" not in done.stderr


def test_only_a_ledger_in_postgresql_needs_its_extra(operated: OperatedFleet) -> None:
    assert operated.ask("fleet", "init")["fleet"]
    operated.database = "postgresql://keeper@127.0.0.1/fleet"
    operated.config("operator")
    answer = operated.ask("fleet", "status")
    assert answer["error"]["code"] == "extra_missing"
    assert "psycopg" in answer["error"]["message"]
    assert "vault-memory[fleet]" in answer["error"]["hint"]


def test_a_ledger_in_sqlite_lets_only_its_owner_in(fleet_of_hosts: OperatedFleet) -> None:
    file = fleet_of_hosts.ledger_file
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}


def test_a_wrong_command_names_what_is_missing(operated: OperatedFleet) -> None:
    for arguments in (("add",), ("add", "ann"), ("drain",), ("export", "ann")):
        assert operated.command("fleet", *arguments).returncode == 2


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", [" ann", "ann\nbo", "\x1b[2Jann", "../ann", "11111111-1111-1111-1111-111111111111"]
)
def test_a_name_that_a_list_cannot_show_is_refused(
    fleet_of_hosts: OperatedFleet, name: str
) -> None:
    home = fleet_of_hosts.store.new_url()
    for arguments in ((name,), ("ann", "--user", name)):
        answer = fleet_of_hosts.ask("fleet", "add", *arguments, "--home", home)
        assert answer["error"]["code"] == "usage_error"
        assert "cannot be the name" in answer["error"]["message"]
    assert fleet_of_hosts.ask("fleet", "status")["vaults"] == []


def test_the_token_of_a_copied_vault_serves_the_person_in_it(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "household", "--home", home, "--from", str(vault))
    ledger = LocalLedger(fleet_of_hosts.ledger_file)
    try:
        caller = ledger.caller(token_digest(added["token"]))
    finally:
        ledger.close()
    assert caller is not None
    assert caller.caller.user == "ann"


def test_a_new_token_replaces_the_earlier_ones(fleet_of_hosts: OperatedFleet, vault: Path) -> None:
    home = fleet_of_hosts.store.new_url()
    lost = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    renewed = fleet_of_hosts.ask("fleet", "token", "ann", "--user", "ann")
    assert not problems(("fleet", "token"), json.dumps(renewed))
    assert renewed["vault"] == lost["vault"]
    ledger = LocalLedger(fleet_of_hosts.ledger_file)
    try:
        assert ledger.caller(token_digest(lost["token"])) is None
        caller = ledger.caller(token_digest(renewed["token"]))
    finally:
        ledger.close()
    assert caller is not None
    assert caller.caller.user == "ann"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ann",), "usage_error"),
        (("nobody", "--user", "ann"), "unknown_vault"),
        (("ann", "--user", "../ann"), "usage_error"),
    ],
)
def test_a_refused_token_leaves_the_earlier_one(
    fleet_of_hosts: OperatedFleet, vault: Path, arguments: tuple[str, ...], code: str
) -> None:
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(vault))
    refused = fleet_of_hosts.ask("fleet", "token", *arguments)
    assert refused["error"]["code"] == code
    ledger = LocalLedger(fleet_of_hosts.ledger_file)
    try:
        assert ledger.caller(token_digest(added["token"])) is not None
    finally:
        ledger.close()


def test_a_copied_vault_of_several_people_needs_the_name_of_one(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    (vault / "Users/bo").mkdir()
    home = fleet_of_hosts.store.new_url()
    arguments = ("fleet", "add", "household", "--home", home, "--from", str(vault))
    answer = fleet_of_hosts.ask(*arguments)
    assert answer["error"]["code"] == "usage_error"
    assert "ann, bo" in answer["error"]["message"]
    assert "token" in fleet_of_hosts.ask(*arguments, "--user", "bo")


def test_a_wrong_address_of_a_home_is_named_as_such(fleet_of_hosts: OperatedFleet) -> None:
    for home in ("banana", "http://", "ftp://homes/ann"):
        answer = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home)
        assert answer["error"]["code"] == "usage_error"
        assert "not the URL of a WebDAV folder" in answer["error"]["message"]


def test_a_file_that_the_home_cannot_have_is_named_and_nothing_is_copied(
    fleet_of_hosts: OperatedFleet, vault: Path
) -> None:
    folder = vault.joinpath(*6 * ["long" * 50])
    folder.mkdir(parents=True)
    (folder / "lines.md").write_text("# Lines\n")
    home = fleet_of_hosts.store.new_home()
    arguments = ("fleet", "add", "ann", "--home", home, "--from", str(vault))
    answer = fleet_of_hosts.ask(*arguments)
    assert answer["error"]["code"] == "usage_error"
    assert "longer than 1024 bytes" in answer["error"]["message"]
    assert fleet_of_hosts.texts(home) == {}
    assert fleet_of_hosts.ask("fleet", "status")["vaults"] == []


def test_an_export_into_a_folder_that_is_missing_says_so(
    fleet_of_hosts: OperatedFleet, tmp_path: Path
) -> None:
    target = tmp_path / "missing" / "back"
    answer = fleet_of_hosts.ask("fleet", "export", "ann", str(target))
    assert answer["error"]["code"] == "usage_error"
    assert f"no folder `{target.parent}`" in answer["error"]["message"]


@pytest.mark.sampled
@pytest.mark.parametrize("status", [429, 503])
def test_a_command_whose_home_is_busy_keeps_nothing_and_exits_with_1(
    fleet_of_hosts: OperatedFleet, vault: Path, tmp_path: Path, status: int
) -> None:
    home = fleet_of_hosts.store.new_url()
    fleet_of_hosts.ask("fleet", "add", "ann", "--home", home)
    with Front(Refusing(status)) as front:
        config = tmp_path / "operator.toml"
        text = config.read_text()
        config.write_text(text.replace(fleet_of_hosts.store.endpoint, front.url))
        codes = [
            fleet_of_hosts.command("fleet", *arguments).returncode
            for arguments in (
                ("add", "bo", "--home", fleet_of_hosts.store.new_url()),
                ("add", "cleo", "--home", f"{home}-2", "--from", str(vault)),
                ("export", "ann", str(tmp_path / "back")),
                ("forget", "ann", "a secret", "--yes"),
            )
        ]

    assert codes == [1, 1, 1, 1]
    assert not (tmp_path / "back").exists()
