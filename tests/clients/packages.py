"""How each real client installs the package that `make packages` has written, and takes it out again."""

import json
import shutil
from abc import abstractmethod

from tests.clients import clients, programs
from tests.clients.clients import Client
from tests.conftest import PROJECT

BUILT = PROJECT / "build" / "packages"
NAME = "vault-memory"
PLUGIN = f"{NAME}@{NAME}"


class Packaged(Client):
    """A client with the package, and without a word of `install`."""

    @abstractmethod
    def add_package(self) -> None:
        """Install the package by the client's own command, for the vault and Mira."""

    @abstractmethod
    def remove_package(self) -> None:
        """Take it out by the client's own command."""


class FromVariables(Packaged):
    """A client whose package asks nothing."""

    @property
    def environment(self) -> dict[str, str]:
        named = {"VAULT_MEMORY_VAULT": str(self.vault), "VAULT_MEMORY_USER": "mira"}
        return super().environment | named


class ClaudeCode(Packaged, clients.ClaudeCode):
    """It asks for the settings of the plugin, or takes them with the command."""

    def add_package(self) -> None:
        self.run(programs.claude(), "plugin", "marketplace", "add", str(BUILT / "marketplace"))
        settings = ("--config", f"vault={self.vault}", "--config", "person=mira")
        self.run(programs.claude(), "plugin", "install", PLUGIN, *settings)

    def remove_package(self) -> None:
        self.run(programs.claude(), "plugin", "uninstall", PLUGIN)


class Codex(FromVariables, clients.Codex):
    def add_package(self) -> None:
        self.run(programs.codex(), "plugin", "marketplace", "add", str(BUILT / "marketplace"))
        self.run(programs.codex(), "plugin", "add", PLUGIN)

    def remove_package(self) -> None:
        self.run(programs.codex(), "plugin", "remove", PLUGIN)


class GeminiCli(Packaged, clients.GeminiCli):
    """It asks for the settings at a terminal, and takes them from standard input."""

    def add_package(self) -> None:
        folder = str(BUILT / "gemini-cli")
        self.extensions("install", "--consent", "--skip-settings", folder)
        self.extensions("config", NAME, "VAULT_MEMORY_VAULT", typed=f"{self.vault}\n")
        self.extensions("config", NAME, "VAULT_MEMORY_USER", typed="mira\n")

    def remove_package(self) -> None:
        self.extensions("uninstall", NAME)

    def extensions(self, *words: str, typed: str = "") -> None:
        self.run(*programs.gemini(), "extensions", *words, typed=typed)


class QwenCode(Packaged, clients.QwenCode):
    """It asks for the settings while it installs the extension."""

    def add_package(self) -> None:
        words = ("extensions", "install", "--consent", str(BUILT / "qwen-code"))
        with self.process(*programs.qwen(), *words) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for title, typed in (("Folder of notes", str(self.vault)), ("Your name", "mira")):
                shown = ""
                while title not in shown:
                    letter = process.stdout.read(1)
                    assert letter, shown
                    shown += letter
                process.stdin.write(f"{typed}\n")
                process.stdin.flush()
            process.stdin.close()
            assert "installed successfully" in process.stdout.read()

    def remove_package(self) -> None:
        self.run(*programs.qwen(), "extensions", "uninstall", NAME)


class Opencode(FromVariables, clients.Opencode):
    """Of its own command for plugins there is no opposite: a person deletes the line."""

    def add_package(self) -> None:
        self.run(programs.opencode(), "plugin", "--global", str(BUILT / "opencode"))

    def remove_package(self) -> None:
        for file in (self.home / ".config" / "opencode").glob("opencode.json*"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(f'"{BUILT / "opencode"}"', ""), encoding="utf-8")


class Hermes(FromVariables, clients.Hermes):
    """It takes a plugin from a repository of git."""

    def add_package(self) -> None:
        source = self.home / "source" / NAME
        shutil.copytree(BUILT / "hermes", source)
        git = ("git", "-C", str(source), "-c", "user.name=t", "-c", "user.email=t@example.org")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "package")):
            self.run(*git, *words)
        self.run(programs.hermes(), "plugins", "install", "--enable", source.as_uri())

    def remove_package(self) -> None:
        self.run(programs.hermes(), "plugins", "remove", NAME)


class OpenClaw(Packaged, clients.OpenClaw):
    """Too slow for each run of the CI. The settings are those of the plugin."""

    def add_package(self) -> None:
        self.openclaw(
            "plugins", "install", "--force", "--accept-capabilities", str(BUILT / "openclaw")
        )
        entry = {
            "enabled": True,
            "hooks": {"allowConversationAccess": True},
            "config": {"vault": str(self.vault), "person": "mira", "dreaming": {"enabled": False}},
        }
        self.openclaw("config", "set", f"plugins.entries.{NAME}", json.dumps(entry))
        self.openclaw("config", "set", "plugins.slots.memory", NAME)

    def remove_package(self) -> None:
        self.openclaw("plugins", "uninstall", NAME, "--force")

    def openclaw(self, *words: str) -> None:
        self.run(*programs.openclaw(), *words)


PACKAGED: tuple[type[Packaged], ...] = (ClaudeCode, Codex, GeminiCli, QwenCode, Opencode, Hermes)
