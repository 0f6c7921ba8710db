"""Editors that no registry installs: what `install` writes is checked against their documentation.

Each schema states what the documentation says of a server that the editor starts itself:

- Cursor (cursor.com/docs/mcp): `mcpServers` in `~/.cursor/mcp.json` or `.cursor/mcp.json`; a server
  has `type` "stdio", `command`, `args`, `env`, `envFile`.
- VS Code (code.visualstudio.com, "MCP configuration reference"): `servers` and `inputs` in `mcp.json`
  of the profile or `.vscode/mcp.json`; `type` "stdio" and `command` are required, `args`, `env`,
  `envFile`, `cwd` and `dev` are not. Comments are allowed.
- Windsurf (docs.windsurf.com, "Cascade MCP"): `mcpServers` in `~/.codeium/windsurf/mcp_config.json`;
  `command`, `args`, `env`, `disabled`, `disabledTools`, or `serverUrl` for a remote server.
- Zed (zed.dev/docs/ai/mcp): `context_servers` in `settings.json`; `command`, `args`, `env`, `enabled`.
  The file has comments and trailing commas.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.addons.hosts.conftest import Install
from tests.addons.hosts.test_installer import FILES, folder
from tests.scenarios.outside import Outside
from vault_memory.addons.hosts import jsonc_reader


class Schema(NamedTuple):
    section: str
    required: dict[str, Any]
    """Keys of a server; a text is the only value that is allowed"""
    optional: set[str]
    project_file: str = ""
    """In the folder of a project; empty when the editor reads none there"""


SCHEMAS = {
    "cursor": Schema(
        "mcpServers",
        {"type": "stdio", "command": str, "args": list},
        {"env", "envFile"},
        ".cursor/mcp.json",
    ),
    "vscode": Schema(
        "servers",
        {"type": "stdio", "command": str, "args": list},
        {"env", "envFile", "cwd", "dev"},
        ".vscode/mcp.json",
    ),
    "windsurf": Schema(
        "mcpServers", {"command": str, "args": list}, {"env", "disabled", "disabledTools"}
    ),
    "zed": Schema(
        "context_servers", {"command": str, "args": list}, {"env", "enabled"}, ".zed/settings.json"
    ),
}
ZED = """\
// Zed settings
{
  "theme": "One Dark", // at night
  "context_servers": {
    /* of the office */
    "tides": { "command": "tides", "args": ["--mcp"], },
  },
  "vim_mode": true,
}
"""


def entry_in(file: Path, schema: Schema) -> dict[str, Any]:
    settings: Any = jsonc_reader.read(file.read_text()).plain()
    return dict(settings[schema.section]["vault-memory"])


def check(entry: dict[str, Any], schema: Schema) -> None:
    assert set(schema.required) <= set(entry) <= set(schema.required) | schema.optional
    for name, expected in schema.required.items():
        value = entry[name]
        if isinstance(expected, str):
            assert value == expected
        else:
            assert isinstance(value, expected)
    assert os.access(entry["command"], os.X_OK)
    assert all(isinstance(word, str) for word in entry["args"])


@pytest.mark.parametrize("host", SCHEMAS)
def test_an_editor_reads_the_entry_of_the_server(
    outside: Outside, install: Install, host: str
) -> None:
    install(host)

    check(entry_in(outside.home / FILES[host][0], SCHEMAS[host]), SCHEMAS[host])


@pytest.mark.parametrize("host", [host for host in SCHEMAS if SCHEMAS[host].project_file])
def test_an_editor_reads_the_entry_beside_the_code(
    outside: Outside, install: Install, host: str
) -> None:
    code = outside.home / "code" / "heron"
    code.mkdir(parents=True)

    install(host, "--project", str(code))

    schema = SCHEMAS[host]
    entry = entry_in(code / schema.project_file, schema)
    check(entry, schema)
    assert entry["args"][entry["args"].index("--channel") + 1] == "heron"
    install(host, "--project", str(code), "--uninstall")
    assert not (code / schema.project_file).exists()


def test_the_comments_of_zed_stay(outside: Outside, install: Install) -> None:
    file = outside.home / FILES["zed"][0]
    file.parent.mkdir(parents=True)
    file.write_text(ZED)

    install("zed")

    changed = file.read_text()
    lines = changed.splitlines()
    assert [line for line in ZED.splitlines() if line not in lines] == []
    assert set(entry_in(file, SCHEMAS["zed"])) == {"command", "args"}
    install("zed", "--uninstall")
    assert file.read_text() == ZED


def test_a_project_is_refused_where_the_program_reads_no_file_of_it(
    outside: Outside, install: Install
) -> None:
    done = outside.run(
        "install", "windsurf", "--user", "mira", "--project", str(outside.home), "--json"
    )

    assert (done.code, done.error["code"]) == (2, "no_project_files")
    assert folder(outside.home) == {}
