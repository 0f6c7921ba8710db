"""Units as the service managers read them: every path arrives as it is, whatever letters it is made of."""

import os
import plistlib
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.every import every
from vault_memory.admin.service_templates import Job, PathNotTaken, launchd_list, systemd_unit
from vault_memory.admin.service_units import (
    NAME,
    UnitNotOurs,
    UnitNotWritten,
    UnitPlace,
    install,
    job_of,
    place_of,
    uninstall,
)
from vault_memory.errors import UsageError, VaultUnreachable
from vault_memory.models.telemetry import OPT_OUTS

SYSTEMD = Path("/lib/systemd/systemd")
VAULT_ID = "0123456789abcdef" * 2
ODD = "\\\"'%$ ;#=-:+@!|{}[]~*?&<>é😀\u00a0\u2028\u200f"
PATHS = st.text(st.sampled_from(ODD + "abn/"), min_size=1, max_size=12).map(
    lambda text: os.path.normpath(f"/v{text}")
)


def a_job(vault: str, state: Path = Path("/s/id"), **other: object) -> Job:
    job = Job(
        name=NAME,
        title=vault,
        program=("/usr/bin/true",),
        arguments=("run", "--vault", vault),
        config=None,
        state_root=Path("/s"),
        folders=(Path(vault), state),
        log=state / "daemon.log",
        cache=Path("/c"),
        owner="",
    )
    return replace(job, **other)  # type: ignore[arg-type]


def settings_of(unit: str, name: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.split("\n") if line.startswith(f"{name}=")]


def words_of(setting: str) -> list[str]:
    """Words in double quotes, as systemd.syntax(7) and systemd.unit(5) say: backslashes go, and %% is a percent."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"(?: |$)', setting)
    assert " ".join(f'"{word}"' for word in found) == setting, (
        "a quote opens after a space and closes before one"
    )
    assert all(re.fullmatch(r'(?:[^\\]|\\["\\])*', word) for word in found), (
        "no other escape is used"
    )
    assert all(re.fullmatch(r"(?:[^%]|%%)*", word) for word in found), "no specifier"
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in found]


@settings(max_examples=60)
@given(PATHS, PATHS)
@example("/home/mira/my notes", "/s/100%")
@example("/v\\", '/s\'"\\\\"')
@example("/v$HOME", "/s/${HOME}")
@example("/v%h", '/s/" ExecStart=/bin/sh')
def test_every_path_survives_quoting_in_the_unit(vault: str, state: str):
    job = a_job(vault, state=Path(state), state_root=Path(state), config=Path(state) / "c.toml")
    unit = systemd_unit(job)

    [start] = settings_of(unit, "ExecStart")
    assert words_of(start) == [
        ":/usr/bin/true",
        "--quiet",
        "run",
        "--vault",
        vault,
        "--config",
        f"{state}/c.toml",
    ]
    [written] = settings_of(unit, "ReadWritePaths")
    assert words_of(written) == [vault, state, "-/c"]
    assert words_of(settings_of(unit, "Environment")[0]) == [f"VAULT_MEMORY_STATE={state}"]
    assert not any(line.endswith("\\") for line in unit.split("\n")), (
        "a backslash there goes on with the next line"
    )


def systemd_reads(folder: Path, name: str) -> dict[str, list[str]]:
    """What systemd itself makes of a unit, as it prints it for tests; it refuses to do so for root."""
    folder.chmod(0o777)
    environment = {
        "SYSTEMD_UNIT_PATH": f"{folder}:",
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
    }
    nobody = pwd.getpwnam("nobody")
    done = subprocess.run(
        [SYSTEMD, "--test", "--user", f"--unit={name}"],
        env=environment | {"LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=120,
        **(
            {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            if os.getuid() == 0
            else {}
        ),
    )
    _, found, dumped = done.stdout.partition(f"-> Unit {name}:\n")
    if not found:
        pytest.skip(f"systemd prints no units here: {done.stderr[-200:]}")
    told: dict[str, list[str]] = {}
    for line in dumped.partition("\n\t-> Unit ")[0].splitlines():
        key, _, value = line.strip().partition(": ")
        told.setdefault(key, []).append(value)
    return told


def test_a_daemon_started_by_a_service_manager_does_not_phone_home():
    job = a_job("/v")
    words = [words_of(setting) for setting in settings_of(systemd_unit(job), "Environment")]
    of_launchd = plistlib.loads(launchd_list(job).encode())["EnvironmentVariables"]

    assert "ORT_DISABLE_TELEMETRY" in OPT_OUTS
    assert [[f"{name}={value}"] for name, value in OPT_OUTS.items()] == words[-len(OPT_OUTS) :]
    assert of_launchd.items() >= OPT_OUTS.items()


@pytest.mark.sampled
@pytest.mark.skipif(not SYSTEMD.exists(), reason="systemd is not installed")
def test_systemd_parses_every_path_correctly():
    folder = Path(tempfile.mkdtemp())  # not one of pytest's: others have to reach it
    try:
        for vault in (
            "/v a/100%/%h",
            "/v$HOME/${HOME}/$$",
            "/v\\n/a\\",
            "/v\"'/'a'/\"b\"",
            "/v;é😀 ;/#=@-",
        ):
            job = a_job(vault, owner="nobody", state=Path(f"{vault}.state"), state_root=Path(vault))
            (folder / "vault-memory.service").write_text(systemd_unit(job))

            told = systemd_reads(folder, "vault-memory.service")

            assert told["ReadWritePaths"] == [f"{vault} {vault}.state -/c"]
            assert sorted(told["RequiresMountsFor"]) == sorted(
                f"{one} (origin-file)" for one in (vault, f"{vault}.state")
            )
            assert f"VAULT_MEMORY_STATE={vault}" in told["Environment"]
            [command] = told["Command Line"]
            assert (
                re.sub(r"\\(.)", r"\1", command) == f'/usr/bin/true --quiet run --vault "{vault}"'
            )
            assert told["Type"] == ["notify"]
            assert told["ProtectSystem"] == ["strict"]
            assert told["WatchdogSec"] == ["5min"]
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("owner", ["", "root"])
@pytest.mark.parametrize("is_host", [False, True])
def test_systemd_accepts_the_unit_without_warnings(tmp_path: Path, owner: str, is_host: bool):
    unit = tmp_path / "vault-memory.service"
    vault = "/srv/100% of it/\"a\" $b 'c'\\"
    unit.write_text(systemd_unit(a_job(vault, owner=owner, is_host=is_host)))

    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")


@given(PATHS)
@example("/v<key>&amp;</key>")
@example("/v--><x>")
def test_launchd_parses_every_path_correctly(vault: str):
    told = plistlib.loads(launchd_list(a_job(vault)).encode())

    assert told["ProgramArguments"] == ["/usr/bin/true", "--quiet", "run", "--vault", vault]
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert "UserName" not in told


@every("vault", ["/v\nExecStart=/bin/sh", "/v\r", "/v\x00", "/v\x7f", "/v\t", "/v\udcff"])
@every("text_of", [systemd_unit, launchd_list])
def test_a_path_that_no_unit_can_express_is_refused(vault: str, text_of: object):
    with pytest.raises(PathNotTaken):
        text_of(a_job(vault))  # type: ignore[operator]


def test_a_program_that_systemd_would_not_start_is_refused():
    with pytest.raises(PathNotTaken, match="quotes"):
        systemd_unit(a_job("/v", program=("/it's/vault-memory",)))


def test_a_vault_in_a_temporary_folder_is_not_hidden_from_the_service():
    assert "PrivateTmp=yes" in systemd_unit(a_job("/home/mira/notes"))
    assert "PrivateTmp" not in systemd_unit(a_job("/tmp/notes"))
    assert "PrivateTmp" not in systemd_unit(a_job("/v", cache=Path("/var/tmp/c")))


@pytest.mark.parametrize("owner", ["", "mira"])
def test_a_host_has_files_for_many_vaults_and_waits_for_the_network(owner: str):
    daemon = a_job("/v", owner=owner)
    host = replace(daemon, is_host=True)

    assert settings_of(systemd_unit(host), "LimitNOFILE") == ["65536"]
    assert not settings_of(systemd_unit(daemon), "LimitNOFILE")
    network = ["network-online.target"] if owner else []
    assert settings_of(systemd_unit(host), "After") == network
    limits = plistlib.loads(launchd_list(host).encode())["SoftResourceLimits"]
    assert limits == {"NumberOfFiles": 65536}


def test_only_a_system_unit_sets_a_user_and_drops_capabilities():
    of_machine, own = systemd_unit(a_job("/v", owner="mira")), systemd_unit(a_job("/v"))

    assert settings_of(of_machine, "User") == ["mira"]
    assert settings_of(of_machine, "WantedBy") == ["multi-user.target"]
    assert settings_of(of_machine, "CapabilityBoundingSet") == [""]
    assert settings_of(own, "WantedBy") == ["default.target"]
    for setting in ("User", "CapabilityBoundingSet", "PrivateDevices", "ProtectKernelModules"):
        assert not settings_of(own, setting), setting


# ---- writing and taking out ----------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> UnitPlace:
    return place_of(NAME, own=True, kind="systemd", environment={}, folder=tmp_path / "units")


def put(place: UnitPlace, vault: str = "/v", vault_id: str = VAULT_ID) -> str:
    return install(place, a_job(vault), vault_id, dry_run=False).state


def test_installing_twice_changes_nothing(place: UnitPlace):
    assert put(place) == "written"
    before = place.unit.stat()

    assert put(place) == "unchanged"

    assert place.unit.stat().st_mtime_ns == before.st_mtime_ns
    assert [one.name for one in place.folder.iterdir()] == [place.unit.name]


def test_the_unit_of_a_moved_vault_is_rewritten(place: UnitPlace):
    put(place)

    done = install(place, a_job("/elsewhere"), VAULT_ID, dry_run=False)

    assert done.state == "written"
    assert "/elsewhere" in place.unit.read_text()
    assert "systemctl --user restart vault-memory.service" in done.next


@pytest.mark.parametrize("kind", ["systemd", "launchd"])
def test_uninstalling_removes_only_what_was_installed(tmp_path: Path, kind: str):
    place = place_of(NAME, own=True, kind=kind, environment={}, folder=tmp_path)  # type: ignore[arg-type]
    other = tmp_path / "other.service"
    other.write_text("[Service]\n")
    put(place)
    place.enable_link.parent.mkdir()
    (place.enable_link.parent / "other.service").symlink_to(other)
    place.enable_link.symlink_to(place.unit)

    assert uninstall(place, VAULT_ID, dry_run=True).state == "removed"
    assert place.unit.exists()
    assert uninstall(place, VAULT_ID, dry_run=False).state == "removed"
    assert uninstall(place, VAULT_ID, dry_run=False).state == "absent"

    assert {one.name for one in tmp_path.rglob("*")} == {"other.service", "default.target.wants"}


@pytest.mark.parametrize("theirs", ["", "[Service]\nExecStart=/bin/true\n", "\udcff"])
def test_a_foreign_unit_is_left_unchanged(place: UnitPlace, theirs: str):
    place.folder.mkdir()
    place.unit.write_bytes(theirs.encode("utf-8", "surrogateescape"))

    for act in (lambda: put(place), lambda: uninstall(place, VAULT_ID, dry_run=False)):
        with pytest.raises(UnitNotOurs, match="was not written by"):
            act()

    assert place.unit.read_bytes() == theirs.encode("utf-8", "surrogateescape")


def test_a_masked_unit_stays_masked(place: UnitPlace):
    place.folder.mkdir()
    place.unit.symlink_to("/dev/null")

    with pytest.raises(UnitNotOurs):
        put(place)

    assert place.unit.is_symlink()


def test_the_unit_of_another_vault_is_left_unchanged(place: UnitPlace):
    put(place)
    with pytest.raises(UnitNotOurs, match="another vault"):
        put(place, vault_id="f" * 32)
    with pytest.raises(UnitNotOurs, match="another vault"):
        uninstall(place, "f" * 32, dry_run=False)


def test_a_unit_edited_by_hand_is_left_unchanged(place: UnitPlace):
    put(place)
    place.unit.write_text(place.unit.read_text().replace("RestartSec=10", "RestartSec=60"))

    with pytest.raises(UnitNotOurs, match="by hand"):
        put(place)
    with pytest.raises(UnitNotOurs, match="by hand"):
        uninstall(place, VAULT_ID, dry_run=False)

    assert "RestartSec=60" in place.unit.read_text()


def test_a_read_only_unit_folder_is_reported(tmp_path: Path):
    (tmp_path / "file").touch()
    place = place_of(
        NAME, own=False, kind="systemd", environment={}, folder=tmp_path / "file" / "units"
    )

    with pytest.raises(UnitNotWritten) as refused:
        put(place)

    assert "sudo" in refused.value.hint


@every("name", ["", ".", "../x", "a/b", "-x", "a b", "x" * 65, "é", "%h"])
def test_an_invalid_name_is_refused(name: str):
    with pytest.raises(UsageError):
        place_of(name, own=True, kind=None, environment={})


def test_each_service_manager_has_its_own_folder():
    def unit(*, own: bool, kind: str, **environment: str) -> str:
        return str(
            place_of(NAME, own=own, kind=kind, environment={"HOME": "/h"} | environment).unit
        )  # type: ignore[arg-type]

    assert unit(own=True, kind="systemd") == "/h/.config/systemd/user/vault-memory.service"
    assert (
        unit(own=True, kind="systemd", XDG_CONFIG_HOME="/x")
        == "/x/systemd/user/vault-memory.service"
    )
    assert unit(own=False, kind="systemd") == "/etc/systemd/system/vault-memory.service"
    assert unit(own=True, kind="launchd") == "/h/Library/LaunchAgents/vault-memory.plist"
    assert unit(own=False, kind="launchd") == "/Library/LaunchDaemons/vault-memory.plist"


def test_a_system_service_runs_as_the_owner_of_the_vault_state(tmp_path: Path):
    vault, states = tmp_path / "vault", tmp_path / "states"
    vault.mkdir()
    place = place_of(NAME, own=False, kind="systemd", environment={})
    environment = {"VAULT_MEMORY_STATE": str(states), "VAULT_MEMORY_CACHE": str(tmp_path / "cache")}

    with pytest.raises(VaultUnreachable):
        job_of(place, vault, VAULT_ID, None, environment)
    (states / VAULT_ID).mkdir(parents=True)
    job = job_of(place, vault, VAULT_ID, Path("c.toml"), environment)

    assert job.owner == pwd.getpwuid(os.getuid()).pw_name
    assert job.folders == (vault.resolve(), states / VAULT_ID)
    assert job.config == Path.cwd() / "c.toml"
    assert os.access(job.program[0], os.X_OK)
