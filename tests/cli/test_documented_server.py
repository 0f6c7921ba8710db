"""The line of the guide for Ollama, run as printed, against a server on this machine."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from tests.conftest import PROJECT
from tests.models.conftest import ScriptedServer, says
from tests.scenarios.outside import Outside

GUIDE = PROJECT / "docs" / "guides" / "models.md"
OLLAMA = "http://localhost:11434"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


def test_one_line_of_the_guide_connects_a_server_such_as_ollama(
    outside: Outside, server: ScriptedServer
) -> None:
    def embed(handler: BaseHTTPRequestHandler) -> None:
        texts = json.loads(server.asked[-1][2])["input"]
        rows = [
            {"index": place, "embedding": [1.0, float("kitten" in text)]}
            for place, text in enumerate(texts)
        ]
        says(200, json.dumps({"data": rows}).encode())(handler)

    guide = GUIDE.read_text(encoding="utf-8")
    [line] = re.findall(r"^export .*11434.*$", guide, re.MULTILINE)
    server.script = [embed]
    outside.settings.clear()
    outside.write("memory/a.md", "- The veterinarian vaccinated both kittens\n")
    outside.write("memory/b.md", "- The roof of the shed was tarred in May\n")
    program = f'"{sys.executable}" -m vault_memory --vault "{outside.vault}"'

    result = subprocess.run(
        ["sh", "-c", f"{line.replace(OLLAMA, server.url)}\n{program} index --json"],
        env=outside.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["embedded"] == 2
    path, _, body = server.asked[-1]
    assert path == "/v1/embeddings"
    assert json.loads(body)["model"] == "nomic-embed-text"
