"""`install` plugs a vault into hosts, and `--uninstall` leaves their files as they were."""

import json
import os
import shlex
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_jsonc_edit import OBJECTS
from tests.scenarios.outside import Outside
from vault_memory.addons.hosts import jsonc_reader, programs
from vault_memory.addons.hosts.config_edits import JsonEdit
from vault_memory.addons.hosts.host import CONVERSATION_EVENTS as EVENTS
from vault_memory.addons.hosts.install_plan import InstallRequest
from vault_memory.rules.context.quoting import INTRO

HOSTS = programs.names()
USER_FOLDER = "Library/Application Support" if sys.platform == "darwin" else ".config"
PLUGIN_FILES = ("openclaw.plugin.json", "package.json", "index.js")
FILES = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/config.toml",),
    "gemini-cli": (".gemini/settings.json",),
    "qwen-code": (".qwen/settings.json",),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/plugins/vault-memory.js"),
    "claude-desktop": (USER_FOLDER + "/Claude/claude_desktop_config.json",),
    "openclaw": (
        *(f".openclaw/extensions/vault-memory/{name}" for name in PLUGIN_FILES),
        ".openclaw/openclaw.json",
    ),
    "cursor": (".cursor/mcp.json",),
    "vscode": (USER_FOLDER + "/Code/User/mcp.json",),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "zed": (".config/zed/settings.json",),
    "hermes": (
        ".hermes/plugins/vault-memory/__init__.py",
        ".hermes/plugins/vault-memory/plugin.yaml",
    ),
}
SETTINGS = """\
{
  "model": "opus",
  "hooks": {
    "SessionStart": [
      {"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}
    ],
    "Stop": []
  },
  "mcpServers": {"other": {"command": "x"}}
}
"""
TOML = """\
# mine
model = "gpt-5"   # the good one

[mcp_servers.other]
command = "x"

[[hooks.SessionStart]]
[[hooks.SessionStart.hooks]]
type = "command"
command = "date"
"""
JSON5 = "{\n  // which one\n  agents: { defaults: { workspace: '~/w', }, },\n}\n"
BEFORE = {
    "claude-code": SETTINGS,
    "codex": TOML,
    "gemini-cli": JSON5,
    "opencode": JSON5,
    "qwen-code": SETTINGS,
    "claude-desktop": SETTINGS,
    "openclaw": JSON5,
    "cursor": SETTINGS,
    "vscode": JSON5,
    "windsurf": SETTINGS,
    "zed": JSON5,
    "hermes": None,
}
OURS_ALONE = (".js", ".py", ".yaml")
"""How files end that are ours from the first line to the last; so do all in `extensions`"""


def given_files(outside: Outside, host: str) -> list[Path]:
    files = [outside.home / name for name in FILES[host]]
    if text := BEFORE[host]:
        for file in shared_files(files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
    return files


def shared_files(files: list[Path]) -> list[Path]:
    return [
        file for file in files if file.suffix not in OURS_ALONE and "extensions" not in file.parts
    ]


def folder(home: Path) -> dict[str, bytes]:
    """Every file below a home that is not our own state."""
    return {
        str(file.relative_to(home)): file.read_bytes()
        for file in home.rglob("*")
        if file.is_file() and "state" not in file.relative_to(home).parts
    }


@pytest.mark.smoke
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_removes_exactly_what_install_added(
    outside: Outside, install: Install, host: str
) -> None:
    files = given_files(outside, host)
    before = folder(outside.home)

    first = install(host)
    installed = {file: file.read_bytes() for file in files}
    again = install(host)

    assert [one["path"] for one in first["files"]] == list(map(str, files))
    assert all(one["changed"] for one in first["files"])
    assert [Path(one["backup"]).read_text() for one in first["files"] if one["backup"]] == [
        BEFORE[host] for _ in shared_files(files)
    ]
    assert not any(one["changed"] for one in again["files"])
    assert {file: file.read_bytes() for file in files} == installed
    install(host, "--uninstall")
    assert {
        name: raw for name, raw in folder(outside.home).items() if not name.endswith(".bak")
    } == before


EMPTY_SHAPES = (
    "",
    "\n",
    "{}",
    "{ }\n",
    "{\n}\n",
    "{\n\n  }\r\n",
    '{"mcpServers": { }}',
    '{\n  "mcpServers": {\n  },\n  "hooks": { }\n}\n',
    '{"mcp": {\t}, "servers": { }, "context_servers": {\n}}',
    '{"hooks": {"Stop": [ ], "SessionStart": [\n]}}',
    '{"plugins": {"allow": [ ]}, "permissions": {"allow": [\n  ]}}',
)
"""Configurations in which a person left an object, a list or the whole file empty"""


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOSTS)
def test_uninstall_gives_an_empty_object_back_as_it_was(
    outside: Outside, install: Install, host: str
) -> None:
    files = [outside.home / name for name in FILES[host]]
    files = [file for file in shared_files(files) if file.suffix == ".json"]
    for shape in EMPTY_SHAPES if files else ():
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(shape.encode())

        install(host)
        install(host)
        install(host, "--uninstall")

        assert [file.read_bytes() for file in files] == [shape.encode()] * len(files)


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOSTS)
def test_new_files_are_private_and_removed_by_uninstall(
    outside: Outside, install: Install, host: str
) -> None:
    install(host)

    files = [outside.home / name for name in FILES[host]]
    assert all(file.exists() and not stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files)
    install(host, "--uninstall")
    assert folder(outside.home) == {}
    assert not any(one["changed"] for one in install(host, "--uninstall")["files"])


@pytest.mark.sampled
@pytest.mark.parametrize("host", HOSTS)
def test_a_dry_run_shows_the_diff_and_changes_nothing(
    outside: Outside, install: Install, host: str
) -> None:
    given_files(outside, host)
    before = folder(outside.home)

    shown = install(host, "--dry-run")

    assert folder(outside.home) == before
    assert all("+" in one["diff"] and "vault-memory" in one["diff"] for one in shown["files"])


def test_claude_code_gets_the_five_hooks_in_addition_to_its_own(
    outside: Outside, install: Install
) -> None:
    settings_file, servers_file = given_files(outside, "claude-code")

    install("claude-code", "--channel", "harbour", "--private")

    said = json.loads(settings_file.read_text())
    assert said["model"] == "opus"
    assert said["hooks"]["SessionStart"][0] == {
        "matcher": "startup",
        "hooks": [{"type": "command", "command": "date"}],
    }
    for event in EVENTS:
        [hook] = said["hooks"][event][-1]["hooks"]
        words = shlex.split(hook["command"])
        assert words[-9:] == [
            "hook",
            "claude-code",
            "--vault",
            str(outside.vault),
            "--user",
            "mira",
            "--channel",
            "harbour",
            "--private",
        ]
        assert os.path.isabs(words[0])
        assert hook["type"] == "command"
        assert hook["timeout"] <= 10
    server = json.loads(servers_file.read_text())["mcpServers"]["vault-memory"]
    assert [server["command"], *server["args"]][1:6] == [
        "mcp",
        "--vault",
        str(outside.vault),
        "--user",
        "mira",
    ]


def test_the_installed_command_runs_in_a_shell_for_any_vault_name(
    outside: Outside, install: Install
) -> None:
    vault = outside.home / 'Mira\'s "odd" vault $HOME'
    note = vault / "Users" / "mira" / "wren" / "config" / "USER.md"
    note.parent.mkdir(parents=True)
    note.write_text("- drinks oolong tea\n")
    assert outside.bare("install", "claude-code", "--vault", str(vault)).code == 0
    said = json.loads((outside.home / FILES["claude-code"][0]).read_text())["hooks"][
        "SessionStart"
    ][0]["hooks"][0]

    done = subprocess.run(
        ["sh", "-c", said["command"]],
        input='{"hook_event_name": "SessionStart", "session_id": "s"}',
        env=outside.environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "oolong" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_codex_gets_an_equivalent_toml_block(outside: Outside, install: Install) -> None:
    [file] = given_files(outside, "codex")

    install("codex")

    said = tomllib.loads(file.read_text())
    assert file.read_text().startswith(TOML)
    assert said["mcp_servers"]["other"] == {"command": "x"}
    assert said["mcp_servers"]["vault-memory"]["args"][1:5] == [
        "--vault",
        str(outside.vault),
        "--user",
        "mira",
    ]
    assert said["hooks"]["SessionStart"][0]["hooks"][0]["command"] == "date"
    assert {event: len(groups) for event, groups in said["hooks"].items()} == {
        "SessionStart": 2,
        "UserPromptSubmit": 1,
        "Stop": 1,
        "PreCompact": 1,
        "SessionEnd": 1,
    }


def test_codex_hooks_go_into_hooks_json_if_it_exists(outside: Outside, install: Install) -> None:
    given_files(outside, "codex")
    hooks = outside.home / ".codex" / "hooks.json"
    install("codex")
    hooks.write_text('{"hooks": {}}')

    install("codex")

    assert "hooks.PreCompact" not in (outside.home / ".codex" / "config.toml").read_text()
    assert sorted(json.loads(hooks.read_text())["hooks"]) == sorted(EVENTS)
    install("codex", "--uninstall")
    assert hooks.read_text() == '{"hooks": {}}'
    assert (outside.home / ".codex" / "config.toml").read_text() == TOML


ALLOWED = {
    "claude-code": {"permissions": {"allow": ["mcp__vault-memory"]}},
    "gemini-cli": {"mcpServers": {"vault-memory": {"trust": True}}},
    "qwen-code": {"mcpServers": {"vault-memory": {"trust": True}}},
    "codex": {"mcp_servers": {"vault-memory": {"default_tools_approval_mode": "approve"}}},
}


def says(outside: Outside, host: str, wanted: dict[str, Any]) -> bool:
    """Whether the host's first file says this, whatever else it says."""
    text = (outside.home / FILES[host][0]).read_text()
    said: Any = tomllib.loads(text) if host == "codex" else jsonc_reader.read(text).plain()
    return contains(said, wanted)


def contains(said: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return bool(said == wanted)
    return isinstance(said, dict) and all(
        name in said and contains(said[name], value) for name, value in wanted.items()
    )


@pytest.mark.sampled
@pytest.mark.parametrize("host", ALLOWED)
def test_an_unattended_bot_may_use_the_tools_after_install_with_allow(
    outside: Outside, install: Install, host: str
) -> None:
    given_files(outside, host)
    before = folder(outside.home)

    install(host)
    assert not says(outside, host, ALLOWED[host])
    install(host, "--allow")
    assert says(outside, host, ALLOWED[host])
    assert not any(one["changed"] for one in install(host, "--allow")["files"])
    install(host)
    assert not says(outside, host, ALLOWED[host]), "who leaves the option out takes it back"
    install(host, "--allow")
    install(host, "--uninstall")

    assert {
        name: raw for name, raw in folder(outside.home).items() if not name.endswith(".bak")
    } == before


def test_a_permission_granted_by_the_person_is_kept(outside: Outside, install: Install) -> None:
    file = outside.home / ".claude" / "settings.json"
    file.parent.mkdir()
    before = '{"permissions": {"allow": ["mcp__vault-memory", "Read"]}}\n'
    file.write_text(before)

    install("claude-code", "--allow")
    install("claude-code")
    assert json.loads(file.read_text())["permissions"] == json.loads(before)["permissions"]
    install("claude-code", "--allow")
    install("claude-code", "--uninstall")

    assert file.read_text() == before


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in ALLOWED])
def test_allow_is_refused_for_a_host_without_tool_permissions(
    outside: Outside, install: Install, host: str
) -> None:
    done = outside.run("install", host, "--user", "mira", "--allow", "--json")

    assert (done.code, done.error["code"]) == (2, "nothing_to_allow")
    assert host in done.error["message"]
    assert folder(outside.home) == {}


def test_uninstall_also_removes_the_trust_given_to_our_codex_hooks(
    outside: Outside, install: Install
) -> None:
    """Codex writes it between our marks, since it puts tables beside their like."""
    [file] = given_files(outside, "codex")
    install("codex")
    trusted = "".join(
        f'\n[hooks.state."{file}:{event}:{number}:0"]\ntrusted_hash = "sha256:0"\n'
        for event, number in [
            ("session_start", 1),
            ("stop", 0),
            ("session_end", 0),
            ("user_prompt_submit", 0),
        ]
    )
    theirs = f'\n[hooks.state."{file}:session_start:0:0"]\ntrusted_hash = "sha256:1"\n'
    end = "# <<< vault-memory <<<"

    file.write_text(file.read_text().replace(end, f"\n[hooks.state]\n{trusted}{end}"))
    install("codex", "--uninstall")
    assert file.read_text() == TOML

    install("codex")
    file.write_text(file.read_text().replace(end, f"\n[hooks.state]\n{theirs}{trusted}{end}"))
    install("codex", "--uninstall")
    assert tomllib.loads(file.read_text())["hooks"]["state"] == {
        f"{file}:session_start:0:0": {"trusted_hash": "sha256:1"}
    }


def test_installing_for_another_person_or_vault_replaces_the_previous_entry(
    outside: Outside, install: Install
) -> None:
    settings_file, _ = given_files(outside, "claude-code")
    install("claude-code")

    install("claude-code", "--user", "tomas")

    text = settings_file.read_text()
    assert "--user mira" not in text
    assert text.count("--user tomas") == len(EVENTS)


def test_changes_a_person_made_after_install_are_kept(outside: Outside, install: Install) -> None:
    settings_file, _ = given_files(outside, "claude-code")
    install("claude-code")
    said = json.loads(settings_file.read_text())
    said["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "later"}]})
    said["theme"] = "dark"
    settings_file.write_text(json.dumps(said, indent=4))

    install("claude-code", "--uninstall")

    wanted = json.loads(SETTINGS) | {"theme": "dark"}
    wanted["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "later"}]})
    assert json.loads(settings_file.read_text()) == wanted


@pytest.mark.parametrize(
    ("host", "text", "reason"),
    [
        ("claude-code", '{"a": 1,}', "not valid JSON"),
        ("claude-code", '{"hooks": []}', "`hooks` is not an object"),
        ("claude-desktop", "[]", "no JSON object"),
        ("codex", "model = \n", "not valid TOML"),
        ("codex", "hooks = {}\n", "a block at its end would break"),
        ("openclaw", "{ a: }", "line 1: expected a value"),
        ("openclaw", "{ plugins: { slots: 'none' } }", "`plugins.slots` is not an object"),
        ("zed", '{"context_servers": []}', "`context_servers` is not an object"),
    ],
)
def test_an_unreadable_file_is_reported_and_left_alone(
    outside: Outside, install: Install, host: str, text: str, reason: str
) -> None:
    [file, *_] = shared_files([outside.home / name for name in FILES[host]])
    file.parent.mkdir(parents=True)
    file.write_text(text)

    done = outside.run("install", host, "--user", "mira", "--json")

    assert done.code == 3
    assert reason in done.error["message"]
    assert str(file) in done.error["message"]
    assert list(folder(outside.home).values()) == [text.encode()]


def test_a_symlinked_file_is_edited_in_place_and_keeps_its_mode(
    outside: Outside, install: Install
) -> None:
    real = outside.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text(SETTINGS)
    real.chmod(0o640)
    link = outside.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)

    first, _ = install("claude-code")["files"]

    assert link.is_symlink()
    assert "hook claude-code" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert Path(first["backup"]).parent == real.parent
    assert stat.S_IMODE(Path(first["backup"]).stat().st_mode) == 0o640


def test_each_host_is_found_where_its_environment_variable_points(
    outside: Outside, install: Install
) -> None:
    home = outside.home
    outside.settings |= {
        "CLAUDE_CONFIG_DIR": str(home / "c"),
        "CODEX_HOME": str(home / "x"),
        "GEMINI_CLI_HOME": str(home / "e"),
        "HERMES_HOME": str(home / "h"),
        "OPENCLAW_CONFIG_PATH": str(home / "o" / "o.json"),
        "XDG_CONFIG_HOME": str(home / "g"),
    }

    written = {one["path"] for host in HOSTS for one in install(host)["files"]}

    in_folder_of_applications = (
        [FILES[host][0] for host in ("claude-desktop", "vscode", "zed")]
        if sys.platform == "darwin"
        else ["g/Claude/claude_desktop_config.json", "g/Code/User/mcp.json", "g/zed/settings.json"]
    )
    own = ("h/plugins/vault-memory/__init__.py", "h/plugins/vault-memory/plugin.yaml")
    opencode = ("g/opencode/opencode.json", "g/opencode/plugins/vault-memory.js")
    named = (
        "c/settings.json",
        "c/.claude.json",
        "x/config.toml",
        "e/.gemini/settings.json",
        "o/o.json",
        *(f"o/extensions/vault-memory/{name}" for name in PLUGIN_FILES),
        ".cursor/mcp.json",
        ".qwen/settings.json",
        ".codeium/windsurf/mcp_config.json",
        *opencode,
        *own,
    )
    assert written == {str(home / name) for name in (*named, *in_folder_of_applications)}


def test_the_person_must_be_named_unless_there_is_only_one(
    outside: Outside, install: Install
) -> None:
    outside.write("Users/mira/memories/2026-05-01.md", "- tea\n")
    only = outside.ok("install", "claude-code")
    outside.write("Users/tomas/memories/2026-05-01.md", "- coffee\n")

    several = outside.run("install", "claude-code", "--json")

    assert only["user"] == "mira"
    assert (several.code, several.error["code"]) == (2, "usage_error")
    assert "mira, tomas" in several.error["message"]


def test_an_unknown_host_is_answered_with_the_list_of_hosts(
    outside: Outside, install: Install
) -> None:
    done = outside.run("install", "emacs", "--user", "mira", "--json")

    assert (done.code, done.error["code"]) == (2, "no_such_host")
    assert "openclaw" in done.error["hint"]


SECTIONS = {
    "codex": "mcp_servers",
    "cursor": "mcpServers",
    "vscode": "servers",
    "zed": "context_servers",
}
OUR_SECTIONS = ("hooks", "mcpServers", "mcp", "plugins", "servers", "context_servers")
REQUEST = InstallRequest(("/usr/bin/vault-memory",), Path("/home/mira/my vault"), "mira")


@given(
    OBJECTS,
    st.sampled_from([None, 2, 4, "\t"]),
    st.sampled_from(["claude-code", "claude-desktop", "openclaw", "zed", "vscode"]),
)
@settings(max_examples=50)
@example({"hooks": {"SessionStart": []}, "mcpServers": {}}, 2, "claude-code")
@example({}, None, "openclaw")
def test_any_settings_gain_and_lose_our_entries_without_other_changes(
    said: dict[str, Any], indent: Any, host: str
) -> None:
    for name in OUR_SECTIONS:
        if not isinstance(said.get(name, {}), dict):
            said[name] = {}
    text = json.dumps(said, indent=indent, ensure_ascii=False)

    edits = programs.host(host).plan(REQUEST, {"HOME": "/home/mira"}).edits
    for edit in (edit for _, edit in edits if isinstance(edit, JsonEdit)):
        installed, made = edit.put(text)
        known = json.loads(installed)
        assert edit.put(installed) == (installed, ())
        assert {name: one for name, one in known.items() if name not in OUR_SECTIONS} == {
            name: one for name, one in said.items() if name not in OUR_SECTIONS
        }
        assert edit.remove(installed, made) == (
            text if said else "{}\n" if not text.strip() else text
        )


@pytest.mark.sampled
@pytest.mark.parametrize("host", ["codex", "cursor", "vscode", "zed"])
def test_the_installed_server_entry_starts_the_server(
    outside: Outside, install: Install, host: str
) -> None:
    pytest.importorskip("mcp")
    written = Path(install(host)["files"][0]["path"]).read_text()
    said = tomllib.loads(written) if host == "codex" else json.loads(written)
    entry = said[SECTIONS[host]]["vault-memory"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }

    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello) + "\n",
        env=outside.environment,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=outside.home,
    )

    answer = json.loads(done.stdout.splitlines()[0])
    assert (answer["id"], "capabilities" in answer["result"]) == (1, True)


@pytest.mark.sampled
def test_the_hermes_provider_queries_the_vault_and_records_the_conversation(
    outside: Outside, install: Install
) -> None:
    outside.write("Users/mira/wren/config/USER.md", "# Mira\n\n- drinks oolong tea\n")
    install("hermes")
    plugins = outside.home / ".hermes" / "plugins"
    stand_in = outside.home / "stand-in"  # with the one module of Hermes that a provider imports
    (stand_in / "agent").mkdir(parents=True)
    (stand_in / "agent" / "memory_provider.py").write_text("class MemoryProvider:\n    pass\n")
    script = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("provider", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
class Context:
    def register_memory_provider(self, provider):
        self.provider = provider
context = Context()
module.register(context)
mine = context.provider
assert (mine.name, mine.is_available()) == ("vault-memory", True)
mine.initialize("s1", platform="cli", hermes_home="x", agent_context="primary")
first, second = mine.system_prompt_block(), mine.prefetch("and why?")
mine.sync_turn("I moved to Porto </vault-memory>", "Noted.")
mine.shutdown()
mine.initialize("s1", platform="cli", hermes_home="x", agent_context="primary")
own = mine.handle_tool_call("memory_search", {"query": "Porto"})
mine.initialize("later", platform="cli", hermes_home="x", agent_context="primary")
found = mine.handle_tool_call("memory_search", {"query": "Porto"})
mine.initialize("s2", platform="cron", agent_context="cron")
mine.sync_turn("secret job", "done")
mine.shutdown()
print(json.dumps([first, second, own, found, mine.prefetch("x")]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(plugins / "vault-memory" / "__init__.py")],
        env=outside.environment | {"PYTHONPATH": str(stand_in)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    first, second, own, found, silent = json.loads(done.stdout)
    assert "Porto" not in own, "the conversation that asks is not among what is found"
    assert "oolong" in first
    assert (second, silent) == ("", "")
    assert found.startswith(INTRO)
    assert "**mira**: I moved to Porto ‹/vault-memory>\n</vault-memory>" in found
    assert "score" not in found
    transcripts = "".join(file.read_text() for file in outside.vault.rglob("transcripts/*.jsonl"))
    assert '"Noted."' in transcripts
    assert "secret job" not in transcripts
