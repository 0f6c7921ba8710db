"""`remote` and `sync` with a home in S3, as a person gives them."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.addons.s3.conftest import StoreNamed
from tests.remote.servers import s3_stores
from tests.remote.servers.s3_proxy import S3Proxy
from tests.remote.servers.s3_stores import S3Store
from tests.scenarios.outside import KEYWORDS_ONLY, Outside


@pytest.fixture
def vault(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> Outside:
    """Without a remote and without keys."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    outside.quick = True
    outside.settings["AWS_EC2_METADATA_DISABLED"] = "true"
    return outside


def keys_file(folder: Path, secret: str = s3_stores.SECRET, mode: int = 0o600) -> str:
    file = folder / "aws-keys"
    file.write_text(
        f"[default]\naws_access_key_id = {s3_stores.KEY_ID}\naws_secret_access_key = {secret}\n"
    )
    file.chmod(mode)
    return str(file)


def add(vault: Outside, store: S3Store, url: str, *options: str) -> dict[str, object]:
    file = keys_file(vault.home)
    command = ("remote", "add", url, "--endpoint", store.endpoint)
    return dict(vault.ok(*command, "--credentials-file", file, *options))


def other_device(folder: Path) -> Outside:
    vault, home = folder / "vault", folder / "home"
    vault.mkdir(parents=True)
    home.mkdir()
    return Outside(vault, home, dict(KEYWORDS_ONLY), quick=True)


@pytest.mark.smoke
def test_two_devices_sync_through_a_bucket(vault: Outside, store: S3Store, tmp_path: Path):
    url = store.new_url()
    there = other_device(tmp_path / "there")
    added = add(vault, store, url)
    again = add(there, store, url)
    vault.write("USER.md", "- tea\n")
    vault.write("Projects/boat.md", "- hull\n")

    sent = vault.ok("sync", "--once")
    received = there.ok("sync", "--once")
    (vault.vault / "Projects" / "boat.md").unlink()
    vault.write("USER.md", "- coffee\n")
    vault.ok("sync", "--once")
    there.ok("sync", "--once")

    assert (added["created"], again["created"]) == (True, False)
    assert (added["kind"], added["two_way"]) == ("S3", True)
    assert (sent["uploaded"], received["downloaded"]) == (2, 2)
    assert (there.vault / "USER.md").read_text() == "- coffee\n"
    assert not (there.vault / "Projects" / "boat.md").exists()


@pytest.mark.sampled
def test_a_pass_without_changes_takes_one_request(vault: Outside, store: S3Store):
    add(vault, store, store.new_url())
    for number in range(5):
        vault.write(f"n{number}.md", f"- {number}\n")
    vault.ok("sync", "--once")

    assert vault.ok("sync", "--once")["requests"] == 1


@pytest.mark.sampled
def test_an_empty_folder_stays_on_both_devices(vault: Outside, store: S3Store, tmp_path: Path):
    url = store.new_url()
    there = other_device(tmp_path / "there")
    add(vault, store, url)
    add(there, store, url)
    (vault.vault / "Empty").mkdir()

    for device in (vault, there, vault, there):
        device.ok("sync", "--once")

    assert (vault.vault / "Empty").is_dir()
    assert (there.vault / "Empty").is_dir()


@pytest.mark.sampled
def test_a_deep_folder_of_a_bucket_is_made(vault: Outside, store: S3Store):
    url = f"{store.new_url()}/homes/ann%20b"

    assert add(vault, store, url)["created"] is True

    assert store.open(url).list().entries == ()


@pytest.mark.sampled
def test_the_remote_is_tested_shown_and_removed(vault: Outside, store: S3Store):
    url = store.new_url()
    add(vault, store, url)
    vault.write("USER.md", "- tea\n")
    vault.ok("sync", "--once")

    tested = vault.run("remote", "test")
    status = vault.ok("remote", "status")
    removed = vault.ok("remote", "remove")

    assert "safe to sync both ways" in tested.out
    assert "the whole tree is listed at once" in tested.out
    assert "for every folder" not in tested.out
    assert url in tested.out
    assert status["server"] == url
    assert removed == {"removed": url}
    assert vault.run("remote", "status").code == 3
    assert store.open(url).get("USER.md", max_bytes=99).raw == b"- tea\n"


@pytest.mark.sampled
def test_keys_come_from_the_usual_variables(vault: Outside, store: S3Store):
    vault.settings |= {
        "AWS_ACCESS_KEY_ID": s3_stores.KEY_ID,
        "AWS_SECRET_ACCESS_KEY": s3_stores.SECRET,
    }
    url = store.new_url()

    vault.ok("remote", "add", url, "--endpoint", store.endpoint, "--region", "eu-west-1")
    vault.write("USER.md", "- tea\n")

    assert vault.ok("sync", "--once")["uploaded"] == 1


def test_a_profile_of_the_credentials_file_is_chosen_by_name(
    vault: Outside, s3_store_named: StoreNamed
):
    store = s3_store_named("s3-seaweed")
    file = Path(keys_file(vault.home, secret="wrong"))
    text = file.read_text()
    file.write_text(
        text
        + "[work]\n"
        + f"aws_access_key_id={s3_stores.KEY_ID}\n"
        + f"aws_secret_access_key={s3_stores.SECRET}\n"
    )
    command = (
        *("remote", "add", store.new_url(), "--endpoint", store.endpoint),
        *("--credentials-file", str(file)),
    )

    refused = vault.run(*command)
    vault.settings["AWS_PROFILE"] = "work"
    accepted = vault.run(*command)

    assert (refused.code, accepted.code) == (3, 0)


def test_wrong_keys_exit_with_3_and_are_not_shown(vault: Outside, s3_store_named: StoreNamed):
    store = s3_store_named("s3-seaweed")
    url = store.new_url()
    file = keys_file(vault.home, secret="wrong-9731")

    done = vault.run(
        *("remote", "add", url, "--endpoint", store.endpoint), *("--credentials-file", file)
    )

    assert done.code == 3
    assert "refuses these keys" in done.err
    assert "--credentials-file" in done.err
    assert "wrong-9731" not in done.err + done.out
    with pytest.raises(Exception, match="is not there"):
        store.open(url).list()


@pytest.mark.sampled
def test_repaired_keys_are_tried_again(vault: Outside, s3_store_named: StoreNamed):
    store = s3_store_named("s3-seaweed")
    add(vault, store, store.new_url())
    vault.write("USER.md", "- tea\n")
    keys_file(vault.home, secret="wrong")
    refused = [vault.run("sync", "--once") for _ in range(4)]
    keys_file(vault.home)

    assert [done.code for done in refused] == [3, 3, 3, 3]
    assert "--credentials-file" in refused[-1].err
    assert vault.ok("sync", "--once")["uploaded"] == 1


def test_repaired_keys_of_the_usual_file_are_tried_again(
    vault: Outside, s3_store_named: StoreNamed
):
    store = s3_store_named("s3-seaweed")
    vault.quick = False
    vault.settings["AWS_SHARED_CREDENTIALS_FILE"] = keys_file(vault.home)
    vault.ok("remote", "add", store.new_url(), "--endpoint", store.endpoint)
    vault.write("USER.md", "- tea\n")
    keys_file(vault.home, secret="wrong")
    refused = [vault.run("sync", "--once") for _ in range(4)]
    keys_file(vault.home)

    assert [done.code for done in refused] == [3, 3, 3, 3]
    assert vault.ok("sync", "--once")["uploaded"] == 1


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("[default]\naws_access_key_id=a\naws_secret_access_key=b\n", 0o644, "others"),
        ("[default]\naws_access_key_id=a\n", 0o600, "aws_secret_access_key"),
        ("secret-4406", 0o600, "in the form of"),
        ("[x]\na=b\n[y]\nc=d\n", 0o600, "profile"),
        ("[default]\naws_access_key_id=a\naws_secret_access_key=ü\n", 0o600, "copy"),
        ("", 0o600, "empty"),
    ],
)
def test_an_unsafe_credentials_file_is_refused(
    text: str, mode: int, reason: str, vault: Outside, moto: S3Store
):
    file = vault.home / "aws-keys"
    file.write_text(text)
    file.chmod(mode)

    done = vault.run(
        *("remote", "add", moto.new_url(), "--endpoint", moto.endpoint),
        *("--credentials-file", str(file)),
    )

    assert done.code == 3
    assert reason in done.err
    assert "secret-4406" not in done.err


def test_a_credentials_file_in_the_vault_is_refused(vault: Outside, moto: S3Store):
    done = vault.run(
        *("remote", "add", moto.new_url(), "--endpoint", moto.endpoint),
        *("--credentials-file", keys_file(vault.vault)),
    )

    assert done.code == 3
    assert "is in the vault" in done.err


def test_a_proxy_that_strips_if_match_exits_with_3_and_no_put_is_sent(
    vault: Outside, store: S3Store
):
    url = store.new_home()
    store.open(url).put("USER.md", b"- tea\n", expected=None)
    vault.write("USER.md", "- coffee\n")
    file = keys_file(vault.home)
    with S3Proxy(store.endpoint, lost=["If-Match"]) as proxy:
        done = vault.run(
            *("remote", "add", url, "--endpoint", proxy.url),
            *("--credentials-file", file, "--insist"),
        )

        assert proxy.writes == []
    assert done.code == 3
    assert "ignores `If-Match`" in done.err
    assert vault.run("sync", "--once").code == 3
    assert store.open(url).get("USER.md", max_bytes=99).raw == b"- tea\n"


def test_a_missing_bucket_exits_with_4_and_is_not_made(vault: Outside, store: S3Store):
    done = vault.run(
        *("remote", "add", "s3://no-such-bucket/ann", "--endpoint", store.endpoint),
        *("--credentials-file", keys_file(vault.home)),
    )

    assert done.code == 4
    assert "is not there" in done.err
    names = [bucket["Name"] for bucket in store.boto().list_buckets()["Buckets"]]
    assert "no-such-bucket" not in names


def test_a_store_that_is_away_exits_with_4(vault: Outside):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = vault.run(
            *("remote", "add", "s3://homes/ann", "--endpoint", endpoint),
            *("--credentials-file", keys_file(vault.home)),
        )

    assert done.code == 4
    assert "cannot be reached" in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["s3://homes/a?b=c"], "s3://bucket/folder"),
        (["s3://id:secret-4406@homes/a"], "contains keys"),
        (["s3://"], "s3://bucket/folder"),
        (["s3://homes/../x", "--endpoint", "http://127.0.0.1:9"], "folder"),
        (["s3://homes/a", "--user", "ann"], "no user"),
        (["s3://homes/a", "--endpoint", "127.0.0.1:9"], "not the URL of a store"),
        (["s3://homes/a", "--endpoint", "http://x/y"], "not the URL of a store"),
        (["s3://homes/a", "--endpoint", "http://x:999999"], "not a URL"),
        (["s3://homes/a", "--endpoint", "https://id:secret-4406@x"], "contains keys"),
        (["s3://homes/a", "--endpoint", "http://s3.example.org"], "unencrypted"),
        (["s3://homes/a", "--region", "eu west"], "region"),
        (["https://cloud.example.org", "--endpoint", "https://x"], "only for `s3://`"),
    ],
)
def test_bad_addresses_are_configuration_errors(arguments: list[str], reason: str, vault: Outside):
    done = vault.run("remote", "add", *arguments)

    assert done.code == 3
    assert reason in done.err
    assert "secret-4406" not in done.err


def test_a_missing_extra_is_named(vault: Outside):
    program = (
        "import sys; sys.modules['boto3'] = None\n"
        "from vault_memory.cli import main; main(sys.argv[1:])"
    )

    done = subprocess.run(
        [
            *(sys.executable, "-c", program, "--vault", str(vault.vault)),
            *("remote", "add", "s3://homes/ann"),
        ],
        env=vault.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 3
    assert "boto3" in done.stderr
    assert "pip install 'vault-memory[s3]'" in done.stderr


@pytest.mark.sampled
@pytest.mark.parametrize(
    "arguments", [["--help"], ["remote", "--help"], ["remote", "status"], ["status"]]
)
def test_a_start_without_s3_never_imports_boto(arguments: list[str], vault: Outside):
    program = (
        "import sys\n"
        "import vault_memory\n"
        "from vault_memory.cli import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "import json\n"
        "print(json.dumps([n for n in sys.modules if 'boto' in n]), file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "--vault", str(vault.vault), *arguments],
        env=vault.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(done.stderr.splitlines()[-1]) == []
