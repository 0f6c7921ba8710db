"""The programs of the clients, as `make test-clients` installs them from the package registry.

`python -m tests.clients.programs` says which versions there are, and fails where one is missing: npm leaves out the
package with the program of this processor without a word when it cannot be fetched.
"""

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
INSTALLED = PROJECT / "build" / "clients" / "node_modules"
HERMES = PROJECT / "build" / "clients" / "hermes" / "bin" / "hermes"
SKILLSAW = PROJECT / "build" / "clients" / "skillsaw" / "bin" / "skillsaw"
NEWER_NODE = PROJECT / "build" / "newer_node" / "node_modules"
VAULT_MEMORY = Path(sys.executable).with_name("vault-memory")

_CPU = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(
    platform.machine(), platform.machine()
)
_TARGET = {"x64": "x86_64-unknown-linux-musl", "arm64": "aarch64-unknown-linux-musl"}.get(_CPU, "")


def claude() -> str:
    return _program(f"@anthropic-ai/claude-code-linux-{_CPU}/claude")


def codex() -> str:
    return _program(f"@openai/codex-linux-{_CPU}/vendor/{_TARGET}/bin/codex")


def gemini() -> tuple[str, str]:
    """It is a script, and needs the Node.js that npm needs."""
    return shutil.which("node") or "node", _program("@google/gemini-cli/bundle/gemini.js")


def qwen() -> tuple[str, str]:
    return script("qwen")


def script(name: str) -> tuple[str, str]:
    """Returns the command of a program that is a script of Node.js."""
    return shutil.which("node") or "node", _program(f".bin/{name}")


def opencode() -> str:
    return _program(f"opencode-linux-{_CPU}/bin/opencode")


def hermes() -> str:
    return _existing(HERMES)


def skillsaw() -> Path:
    """Returns the program that checks skills, plugins and entries of the MCP registry; `uvx` is beside it."""
    return Path(_existing(SKILLSAW))


def conformance() -> tuple[str, str]:
    """Returns the suite of the protocol. It needs a newer Node.js than most systems have, which comes with it."""
    suite = "@modelcontextprotocol/conformance/dist/index.js"
    return _program(f"node-linux-{_CPU}/bin/node"), _program(suite)


def openclaw() -> tuple[str, str]:
    return _newer_node(), _existing(NEWER_NODE / "openclaw" / "openclaw.mjs")


def inspector() -> tuple[str, str]:
    """Returns the command of the MCP inspector."""
    return _newer_node(), _existing(NEWER_NODE / ".bin" / "mcp-inspector")


def _newer_node() -> str:
    return _existing(NEWER_NODE / f"node-linux-{_CPU}" / "bin" / "node")


def _program(path: str) -> str:
    """The native program itself: the packages' own scripts only look for it."""
    return _existing(INSTALLED / path)


def _existing(program: Path) -> str:
    assert program.is_file(), (
        f"{program} is not there; `make test-clients` or `make test-clients-openclaw` installs it"
    )
    return str(program)


PINNED = {
    "@anthropic-ai/claude-code": claude,
    "@modelcontextprotocol/conformance": conformance,
    "@openai/codex": codex,
    "@google/gemini-cli": gemini,
    "opencode-ai": opencode,
    "hermes-agent": hermes,
    "skillsaw": skillsaw,
    "@qwen-code/qwen-code": qwen,
}


def wanted_versions() -> dict[str, str]:
    """The version of each package that npm or pip installs."""
    folder = Path(__file__).parent
    from_npm = json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
    lines = [
        line
        for name in ("hermes.txt", "skillsaw.txt")
        for line in (folder / name).read_text(encoding="utf-8").splitlines()
    ]
    from_pip = dict(line.split("==") for line in lines if "==" in line)
    return from_npm | {name.partition("[")[0]: version for name, version in from_pip.items()}


def main() -> None:
    wanted = wanted_versions()
    for package, program in PINNED.items():
        place = program()
        command = list(place) if isinstance(place, tuple) else [str(place)]
        said = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        assert wanted[package] in said, f"{package}: {said.strip()} is not {wanted[package]}"
        print(package, wanted[package])


if __name__ == "__main__":
    main()
