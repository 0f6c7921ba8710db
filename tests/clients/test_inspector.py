"""The strict check of the MCP inspector: by hand, as `make test-clients-openclaw`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import programs

pytestmark = pytest.mark.clients

UNCLEAR = """
import json, sys
TOOL = {"name": "a", "inputSchema": {"type": "object", "properties": {"q": {"type": ["string", "null"]}}}}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
RESULTS = {"initialize": HELLO, "tools/list": {"tools": [TOOL]}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = RESULTS.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
"""A server whose one schema some hosts cannot read"""


def inspected(folder: Path, *server: str) -> "subprocess.CompletedProcess[str]":
    """Returns what the inspector says of the tools of a server."""
    node, _ = command = programs.inspector()
    environment = {
        "HOME": str(folder),
        "PATH": f"{Path(node).parent}:/usr/bin:/bin",
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    check = ("--method", "tools/list", "--strict")
    return subprocess.run(
        [*command, "--cli", *server, *check],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_inspector_accepts_the_schemas_of_our_tools(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    note = vault / "Users" / "mira" / "memories" / "boats.md"
    note.parent.mkdir(parents=True)
    # A name without a note gets a remark about its spelling.
    note.write_text("- rows the heron boat\n", encoding="utf-8")
    server = (str(programs.VAULT_MEMORY), "mcp", "--vault", str(vault), "--user", "mira")

    check = inspected(tmp_path, *server)

    assert (check.returncode, check.stderr) == (0, "")
    assert "memory_search" in check.stdout


def test_the_inspector_rejects_a_faulty_schema(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(UNCLEAR)

    assert inspected(tmp_path, sys.executable, str(script)).stderr
