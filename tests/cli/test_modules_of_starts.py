"""How many modules each short-lived command imports: the share of its start that a change can make longer."""

import json
import subprocess
import sys
from textwrap import indent

import pytest

from tests.cli.test_light_starts import HAS_CODE, RUN_COMMAND
from tests.scenarios.outside import Outside

COUNT = f"""
{HAS_CODE}
before = set(sys.modules)
if sys.argv[1:] == ["import"]:
    import vault_memory
else:
{indent(RUN_COMMAND, "    ")}
loaded = set(filter(has_code, set(sys.modules) - before))
own = {{name for name in loaded if name.split(".")[0] == "vault_memory"}}
print("\\n", len(own), len(loaded - own), file=sys.stderr)
"""
HOOK = {"hook_event_name": "SessionStart", "session_id": "s", "prompt": "who trimmed the lamp?"}
HELLO = [
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
]
MCP = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in HELLO)

COMMANDS: dict[str, tuple[list[str], str]] = {
    "import vault_memory": (["import"], ""),
    "--version": (["--version"], ""),
    "hook": (["hook", "claude-code", "--user", "ann"], json.dumps(HOOK)),
    "append": (["append", "memory/b.md", "Lamps", "the wick is in the tin", "--quiet"], ""),
    "search": (["search", "lamp"], ""),
    "mcp": (["mcp", "--user", "ann"], MCP),
}
LIMITS = {
    "import vault_memory": (2, 4),
    "--version": (11, 143),
    "hook": (73, 66),
    "append": (130, 130),
    "search": (88, 97),
    # The table of calls names the answers of all of them, not only those of tools.
    "mcp": (20, 82),
}
"""Modules of ours, and others; these may only be lowered. The others have room for ten more, since a
new version of Python or of a library splits its modules differently."""


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("memory/a.md", "- the lamp is trimmed at nine\n")
    outside.write("memory/b.md", "# B\n\n## Lamps\n\n- a red lamp\n")
    assert outside.here("index", "--no-embed").code == 0
    return outside


@pytest.mark.sampled
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_imports_no_more_modules_than_recorded(vault: Outside, command: str):
    arguments, text = COMMANDS[command]
    result = subprocess.run(
        [sys.executable, "-c", COUNT, *arguments],
        input=text,
        text=True,
        capture_output=True,
        env=vault.environment | {"VAULT_MEMORY_VAULT": str(vault.vault)},
        cwd=vault.home,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    own, foreign = map(int, result.stderr.split()[-2:])
    most_own, most_foreign = LIMITS[command]

    assert own <= most_own
    assert foreign <= most_foreign
