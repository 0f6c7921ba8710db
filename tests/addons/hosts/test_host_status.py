"""`install --check` and `doctor`: which program is wired and trusted, and when it last ran."""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_hook import hook, payload
from tests.scenarios.outside import Outside
from vault_memory.addons.hosts import programs


def status(outside: Outside, host: str) -> dict[str, Any]:
    [entry] = outside.ok("install", "--check", host)["hosts"]
    return dict(entry)


def host_check(outside: Outside) -> dict[str, Any]:
    """The one check of `doctor` about a host."""
    checks = outside.ok("doctor")["checks"]
    [check] = [check for check in checks if check["name"] == "host"]
    return dict(check)


def test_each_host_is_told_before_any_is_connected(outside: Outside, install: Install) -> None:
    hosts = outside.ok("install", "--check")["hosts"]

    assert [entry["host"] for entry in hosts] == list(programs.names())
    assert {(entry["wired"], entry["last_fired"]) for entry in hosts} == {("no", None)}


def test_a_connected_host_is_wired_and_has_never_run(outside: Outside, install: Install) -> None:
    for host in programs.names():
        install(host)

    hosts = outside.ok("install", "--check")["hosts"]

    assert {(entry["wired"], entry["last_fired"]) for entry in hosts} == {("yes", None)}
    assert all(file["wired"] for entry in hosts for file in entry["files"])


def test_a_hook_that_ran_is_told_with_its_time(outside: Outside, install: Install) -> None:
    install("claude-code")
    before = time.time()

    hook(outside, "claude-code", payload("claude-code", "session-start"))

    ran = datetime.fromisoformat(status(outside, "claude-code")["last_fired"])
    assert ran.timestamp() >= int(before)
    assert status(outside, "codex")["last_fired"] is None


def test_a_server_that_a_host_started_is_told(outside: Outside, install: Install) -> None:
    written = install("cursor")["files"][0]["path"]
    entry = json.loads(Path(written).read_text())["mcpServers"]["vault-memory"]

    outside.bare(*entry["args"])

    assert status(outside, "cursor")["last_fired"]


def test_half_of_an_installation_is_told(outside: Outside, install: Install) -> None:
    install("claude-code")
    (outside.home / ".claude.json").write_text("{}")

    assert status(outside, "claude-code")["wired"] == "partly"
    check = host_check(outside)
    assert check["state"] == "warn"
    assert check["fix"] == "vault-memory install claude-code"


def test_a_host_of_another_vault_is_not_wired(outside: Outside, install: Install) -> None:
    other = outside.home / "other"
    other.mkdir()
    assert outside.bare("init", str(other)).code == 0
    more = ("--vault", str(other), "--user", "mira")
    assert outside.bare("install", "cursor", *more).code == 0

    assert status(outside, "cursor")["wired"] == "no"


def test_codex_is_trusted_once_all_hooks_are(outside: Outside, install: Install) -> None:
    install("codex")
    file = outside.home / ".codex" / "config.toml"
    untrusted = status(outside, "codex")["trusted"]
    advice = host_check(outside)
    events = ("session_start", "user_prompt_submit", "stop", "pre_compact")

    def trust(event: str) -> None:
        with file.open("a") as stream:
            key = f"{file}:{event}:0:0"
            stream.write(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n')

    for event in events:
        trust(event)
    nearly = status(outside, "codex")["trusted"]
    trust("session_end")

    assert (untrusted, nearly) == ("no", "no")
    assert advice["state"] == "warn"
    assert "run `/hooks` there" in advice["fix"]
    assert status(outside, "codex")["trusted"] == "yes"


def test_claude_code_trusts_the_server_of_a_project_that_is_allowed(
    outside: Outside, install: Install
) -> None:
    code = outside.home / "code" / "heron"
    code.mkdir(parents=True)

    def trusted() -> str:
        hosts = outside.ok("install", "--check", "claude-code")["hosts"]
        [entry] = [entry for entry in hosts if entry["project"] == str(code)]
        assert entry["wired"] == "yes"
        return str(entry["trusted"])

    install("claude-code", "--project", str(code))
    asked = trusted()
    install("claude-code", "--project", str(code), "--allow")

    assert (asked, trusted()) == ("no", "yes")


def test_codex_trusts_a_project_once_its_folder_is_trusted(
    outside: Outside, install: Install
) -> None:
    code = outside.home / "code" / "heron"
    code.mkdir(parents=True)
    install("codex", "--project", str(code))
    file = outside.home / ".codex" / "config.toml"

    def trusted() -> str:
        hosts = outside.ok("install", "--check", "codex")["hosts"]
        [entry] = [entry for entry in hosts if entry["project"] == str(code)]
        return str(entry["trusted"])

    events = ("session_start", "user_prompt_submit", "stop", "pre_compact", "session_end")
    with file.open("a") as stream:
        for event in events:
            key = f"{file}:{event}:0:0"
            stream.write(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n')
    before = trusted()
    with file.open("a") as stream:
        stream.write(f'[projects."{code}"]\ntrust_level = "trusted"\n')

    assert (before, trusted()) == ("no", "yes")


def test_hermes_trusts_the_provider_that_it_was_told_to_use(
    outside: Outside, install: Install
) -> None:
    install("hermes")
    settings = outside.home / ".hermes" / "config.yaml"
    answers = []
    for text in ("", "memory:\n  provider: honcho\n", "memory:\n  provider: vault-memory\n"):
        settings.write_text(text)
        answers.append(status(outside, "hermes")["trusted"])

    assert answers == ["no", "no", "yes"]
