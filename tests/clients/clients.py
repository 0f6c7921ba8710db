"""Each real client: what a person has set up before us, how it is asked, and what it says of our server itself."""

import itertools
import json
import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import requests

from tests.clients import programs
from tests.clients.model import Model

SECONDS = 120
MODEL, SMALL_MODEL = "anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"
"""Names that opencode knows; whoever answers is ours"""
NOWHERE = "http://127.0.0.1:9"
"""Nothing listens there: what a client wants from the network is refused at once"""


class Client(ABC):
    """A client in a home of its own, whose model is ours."""

    name: ClassVar[str]
    """as `install` knows it"""
    files: ClassVar[tuple[str, ...]]
    """of its configuration, those that `install` changes"""
    added: ClassVar[tuple[str, ...]] = ()
    """files that are ours alone"""
    allow: ClassVar[tuple[str, ...]] = ("--allow",)
    """what `install` is told so that nobody is asked"""
    runs: ClassVar[int] = 10
    """How often the first request is looked at: a client that connects in the background is in time by chance"""

    def __init__(self, home: Path, vault: Path, model: Model) -> None:
        self.home, self.vault, self.model = home, vault, model
        self.work = home / "work"
        self.work.mkdir()
        self.settle()

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the person who runs the tests, and no way out of this machine."""
        return {
            "HOME": str(self.home),
            "PATH": f"{programs.VAULT_MEMORY.parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
            "VAULT_MEMORY_STATE": str(self.home / "state"),
            "VAULT_MEMORY_EMBEDDING_KIND": "off",
        }

    @abstractmethod
    def settle(self) -> None:
        """Write the configuration that a person has before ours."""

    @abstractmethod
    def own_check(self) -> str:
        """What the client says of its servers."""

    @abstractmethod
    def ask(self, prompt: str) -> str:
        """What a conversation of one turn prints."""

    @abstractmethod
    def conversation(self) -> Any:
        """A conversation that stays open: a context with a function that says something and waits for the answer."""

    def writes_itself(self, file: Path) -> bool:
        """Whether the client keeps its own state in this file."""
        return False

    def trust(self) -> None:
        """Do what the client asks a person to do after `install`."""
        return

    def run(self, *command: str, typed: str = "") -> str:
        """What a command of the client prints; it must end well. `typed`: what a person types."""
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.work,
            stdin=None if typed else subprocess.DEVNULL,
            input=typed or None,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def ours(self, *command: str) -> dict[str, Any]:
        """What a command of ours says with `--json`."""
        said = self.run(str(programs.VAULT_MEMORY), "--vault", str(self.vault), *command, "--json")
        return dict(json.loads(said))

    def install(self, *options: str) -> dict[str, Any]:
        return self.ours("install", self.name, "--user", "mira", *options)

    def write(self, name: str, text: str) -> None:
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    @contextmanager
    def process(self, *command: str) -> Iterator["subprocess.Popen[str]"]:
        """A process of the client, killed with all that it has started."""
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGKILL)


class ClaudeCode(Client):
    name = "claude-code"
    files = (".claude/settings.json", ".claude.json")

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def settle(self) -> None:
        self.write(
            ".claude/settings.json",
            '{\n    "cleanupPeriodDays": 30,\n    "permissions": {"deny": ["WebFetch"]}\n}\n',
        )
        self.write(".claude.json", '{"hasCompletedOnboarding": true}\n')

    def writes_itself(self, file: Path) -> bool:
        return file.name == ".claude.json"

    def own_check(self) -> str:
        return self.run(programs.claude(), "mcp", "list")

    def ask(self, prompt: str) -> str:
        return self.run(programs.claude(), "-p", prompt)

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        formats = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        with self.process(programs.claude(), "-p", *formats) as process:

            def say(prompt: str) -> None:
                message = {"role": "user", "content": prompt}
                send(
                    process,
                    {
                        "type": "user",
                        "message": message,
                        "parent_tool_use_id": None,
                        "session_id": "",
                    },
                )
                wait(process, lambda said: said.get("type") == "result")

            yield say


class Codex(Client):
    name = "codex"
    files = (".codex/config.toml",)

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"SCRIPTED_KEY": "none"}

    def settle(self) -> None:
        self.write(
            ".codex/config.toml",
            f"""\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{self.model.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[analytics]
enabled = false
""",
        )

    def own_check(self) -> str:
        return self.run(programs.codex(), "mcp", "list")

    def ask(self, prompt: str) -> str:
        return self.run(programs.codex(), "exec", "--skip-git-repo-check", prompt)

    def trust(self) -> None:
        """The hooks are trusted as `/hooks` does it: by the hash that Codex gives of each."""
        with self._server() as call:
            [entry] = call("hooks/list", {"cwds": [str(self.work)]})["data"]
            trusted = {
                hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in entry["hooks"]
            }
            edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
            call("config/batchWrite", {"edits": [edit]})
            [entry] = call("hooks/list", {"cwds": [str(self.work)]})["data"]
        assert {hook["trustStatus"] for hook in entry["hooks"]} == {"trusted"}

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        with self._server() as call:
            thread = call("thread/start", {"cwd": str(self.work)})["thread"]["id"]

            def say(prompt: str) -> None:
                turn = {"threadId": thread, "input": [{"type": "text", "text": prompt}]}
                call("turn/start", turn, until="turn/completed")

            yield say

    @contextmanager
    def _server(self) -> Iterator[Callable[..., Any]]:
        """Codex as editors run it; a function that calls a method, and waits for its answer or for an event."""
        with self.process(programs.codex(), "app-server") as process:
            call = calls(process)
            call("initialize", {"clientInfo": {"name": "tests", "title": "tests", "version": "1"}})
            yield call


class GeminiCli(Client):
    name = "gemini-cli"
    files = (".gemini/settings.json",)
    runs = 10

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def settle(self) -> None:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "model": {"name": "gemini-2.5-flash"},
        }
        self.write(".gemini/settings.json", json.dumps(settings, indent=2))

    def own_check(self) -> str:
        return self.run("sh", "-c", '"$@" 2>&1', "sh", *programs.gemini(), "mcp", "list")

    def ask(self, prompt: str) -> str:
        return self.run(*programs.gemini(), "-p", prompt)

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        with speaking_acp(self, *programs.gemini(), "--acp") as say:
            yield say


class QwenCode(Client):
    """Only with its package: it hides tools behind a search of its own."""

    name = "qwen-code"
    files = (".qwen/settings.json",)

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "OPENAI_BASE_URL": f"{self.model.url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
        }

    def settle(self) -> None:
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "model": {"name": "scripted"},
        }
        self.write(".qwen/settings.json", json.dumps(settings, indent=2))

    def writes_itself(self, file: Path) -> bool:
        return file.name == "settings.json"

    def own_check(self) -> str:
        return self.run(*programs.qwen(), "mcp", "list")

    def ask(self, prompt: str) -> str:
        return self.run(*programs.qwen(), "-p", prompt)

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        with speaking_acp(self, *programs.qwen(), "--acp") as say:
            yield say


class Opencode(Client):
    """It waits for its servers, so that one look at the first request is enough."""

    name = "opencode"
    files = (".config/opencode/opencode.json",)
    added = (".config/opencode/plugins/vault-memory.js",)
    runs = 1
    allow = ()

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            # Beside a plugin it installs its own types for plugins, and waits for a minute when it cannot.
            "npm_config_offline": "true",
        }

    def settle(self) -> None:
        provider = {"options": {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}}
        settings = {
            "$schema": "https://opencode.ai/config.json",  # it writes that itself where it is missing
            "model": MODEL,
            "small_model": SMALL_MODEL,
            "share": "disabled",
            "provider": {"anthropic": provider},
        }
        self.write(".config/opencode/opencode.json", json.dumps(settings, indent=2) + "\n")

    def own_check(self) -> str:
        return self.run(self._program(), "mcp", "list")

    def ask(self, prompt: str) -> str:
        return self.run(self._program(), "run", prompt)

    def _program(self) -> str:
        """It ends without giving back the lock of that installation, and waits for the lock at its next start."""
        shutil.rmtree(self.home / ".local" / "state" / "opencode" / "locks", ignore_errors=True)
        return programs.opencode()

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        """By the server that its own terminal uses."""
        with self.process(
            self._program(), "serve", "--hostname", "127.0.0.1", "--port", "0"
        ) as process:
            assert process.stdout is not None
            url = next(line for line in process.stdout if "listening on" in line).split()[-1]
            session = requests.post(f"{url}/session", json={}, timeout=SECONDS).json()["id"]

            def say(prompt: str) -> None:
                message = {"parts": [{"type": "text", "text": prompt}]}
                requests.post(
                    f"{url}/session/{session}/message", json=message, timeout=SECONDS
                ).raise_for_status()

            yield say


class Hermes(Client):
    """Its memory provider starts before the first request, so that one look at it is enough."""

    name = "hermes"
    files = ()
    added = (".hermes/plugins/vault-memory/__init__.py", ".hermes/plugins/vault-memory/plugin.yaml")
    runs = 1
    allow = ()

    def settle(self) -> None:
        """What the guide has a person choose by `hermes config set` stands there already."""
        settings = {
            "model": {
                "provider": "custom",
                "default": "scripted",
                "base_url": f"{self.model.url}/v1",
                "api_key": "none",
            },
            "memory": {
                "provider": "vault-memory",
                "memory_enabled": False,
                "user_profile_enabled": False,
            },
        }
        self.write(".hermes/config.yaml", json.dumps(settings, indent=2) + "\n")

    def own_check(self) -> str:
        self.write(".hermes/config.yaml", "")
        self.run(programs.hermes(), "config", "set", "memory.provider", "vault-memory")
        return self.run(programs.hermes(), "memory", "status")

    def ask(self, prompt: str) -> str:
        return self.run(programs.hermes(), "-z", prompt)

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        with speaking_acp(self, programs.hermes(), "acp") as say:
            yield say


class OpenClaw(Client):
    """Too slow for each run of the CI: a turn takes 15 seconds of CPU time."""

    name = "openclaw"
    files = (".openclaw/openclaw.json",)
    added = tuple(
        f".openclaw/extensions/vault-memory/{name}"
        for name in ("openclaw.plugin.json", "package.json", "index.js")
    )
    allow = ()

    def settle(self) -> None:
        """A person's file with comments; OpenClaw itself writes it anew without them."""
        self.write(
            ".openclaw/openclaw.json",
            f"""\
{{
  // the model of this machine
  models: {{ providers: {{ scripted: {{
    baseUrl: "{self.model.url}/v1", apiKey: "none", api: "openai-completions",
    models: [{{ id: "scripted", name: "Scripted", contextWindow: 128000, maxTokens: 8000 }}],
  }} }} }},
  agents: {{ defaults: {{ model: "scripted/scripted", workspace: "{self.work}" }} }},
}}
""",
        )

    def own_check(self) -> str:
        inspect = ("plugins", "inspect", "vault-memory", "--runtime", "--json")
        return self.run(*programs.openclaw(), *inspect)

    def ask(self, prompt: str) -> str:
        agent = ("agent", "--local", "--agent", "main")
        return self.run(*programs.openclaw(), *agent, "--message", prompt)

    def offer_directly(self) -> None:
        """Name all tools in the first request: by default they stand behind a search."""
        self.run(*programs.openclaw(), "config", "set", "tools.toolSearch", "false")

    @contextmanager
    def conversation(self) -> Iterator[Callable[[str], None]]:
        """Each turn is a process of its own; the session of the agent goes on."""

        def say(prompt: str) -> None:
            self.ask(prompt)

        yield say


CLIENTS: tuple[type[Client], ...] = (ClaudeCode, Codex, GeminiCli, Opencode, Hermes)


@contextmanager
def speaking_acp(client: Client, *command: str) -> Iterator[Callable[[str], None]]:
    """A conversation as editors have it, by the Agent Client Protocol."""
    with client.process(*command) as process:
        call = calls(process)
        call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = call("session/new", {"cwd": str(client.work), "mcpServers": []})["sessionId"]

        def say(prompt: str) -> None:
            parts = [{"type": "text", "text": prompt}]
            call("session/prompt", {"sessionId": session, "prompt": parts})

        yield say


def calls(process: "subprocess.Popen[str]") -> Callable[..., Any]:
    """A function that calls a method of JSON-RPC, and waits for its answer or for an event."""
    numbers = itertools.count(1)

    def call(method: str, params: object, until: str = "") -> Any:
        number = next(numbers)
        send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if until:
            return wait(process, lambda said: said.get("method") == until)
        return wait(process, lambda said: said.get("id") == number and "method" not in said)[
            "result"
        ]

    return call


def send(process: "subprocess.Popen[str]", message: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def wait(
    process: "subprocess.Popen[str]", is_it: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The first message that is the one; fails when the client ends before."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line[:300])
        said = json.loads(line)
        if is_it(said):
            return dict(said)
    raise AssertionError(f"the client ended: {seen[-20:]}")
