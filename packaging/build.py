"""Writes the packages by which programs install the memory: `make packages`, into build/packages.

One folder or file each: a marketplace of Claude Code, which Codex reads too, extensions of Gemini CLI
and Qwen Code, a bundle for Claude Desktop, the entry of the MCP registry, plugins of OpenClaw and
opencode from npm, a provider of Hermes, a skill, and llms.txt. What they say comes from
packages.toml, and what they call from the tables behind `install`.
"""

import hashlib
import json
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
sys.path[0] = str(PROJECT)

from vault_memory import __version__ as VERSION  # noqa: E402
from vault_memory.addons.hosts import install_plan, programs  # noqa: E402
from vault_memory.addons.hosts.programs import codex  # noqa: E402
from vault_memory.mcp import tools  # noqa: E402

BUILD = PROJECT / "build" / "packages"
TABLE: dict[str, Any] = tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))
NAME, TITLE, SUMMARY = TABLE["name"], TABLE["title"], TABLE["summary"]
SETTINGS: dict[str, dict[str, str]] = TABLE["settings"]
ANSWERS = {name: f"${{user_config.{name}}}" for name in SETTINGS}
"""What Claude Code and Claude Desktop replace by the settings that a person gave"""
REPOSITORY = TABLE["repository"]
DESCRIPTION = TABLE["description"].strip().replace("\n", " ")
SOURCE = f"{NAME}[{TABLE['extras']}]=={VERSION}"
"""What `uvx` fetches where the program is not installed"""
START = "start.sh"
FIRST_START_SECONDS = 60
"""For the start of a conversation: `uvx` may fetch the program then"""
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
OPENCLAW = "2026.9.2"
"""The first version of OpenClaw whose plugin interface was tried"""
CODEX_HOOKS, CODEX_SERVERS = "codex/hooks.json", "codex/servers.json"


def main() -> None:
    """Write every package anew, and name each."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    bundle = write_bundle(BUILD / f"{NAME}-{VERSION}.mcpb", built_wheel())
    written = [
        write_marketplace(BUILD / "marketplace"),
        write_gemini(BUILD / "gemini-cli"),
        write_qwen(BUILD / "qwen-code"),
        bundle,
        write_registry_entry(BUILD / "server.json", bundle),
        write_openclaw(BUILD / "openclaw"),
        write_opencode(BUILD / "opencode"),
        write_hermes(BUILD / "hermes"),
        write_text(BUILD / "SKILL.md", text_of("skill.md")),
        write_text(BUILD / "llms.txt", links()),
    ]
    for path in written:
        print(path.relative_to(PROJECT))


# --- Pieces ---


def text_of(name: str) -> str:
    """Return a text beside this file, with what it takes from the table."""
    return (HERE / name).read_text(encoding="utf-8").replace("@SOURCE@", SOURCE)


def write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, content: object) -> Path:
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_start(folder: Path) -> None:
    """Write the script that starts the program."""
    file = write_text(folder / START, text_of(START))
    file.chmod(file.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def write_skill(folder: Path) -> None:
    write_text(folder / "skills" / NAME / "SKILL.md", text_of("skill.md"))


def start_words(start: str, *words: str, **settings: str) -> list[str]:
    """Return the command line that starts the program; a missing setting is empty."""
    return ["/bin/sh", start, *(settings.get(name, "") for name in SETTINGS), *words]


def shell_line(words: Iterable[str]) -> str:
    """Return words for a shell, which replaces the variables in them."""
    return " ".join(f'"{word}"' for word in words)


def about(**more: object) -> dict[str, object]:
    """Return what every manifest says of the package."""
    return {"name": NAME, "version": VERSION, "description": SUMMARY, **more}


def questions() -> dict[str, dict[str, object]]:
    """Return what Claude Code and Claude Desktop ask a person for."""
    return {
        name: {
            "type": setting["kind"],
            "title": setting["title"],
            "description": setting["description"],
            "required": True,
        }
        for name, setting in SETTINGS.items()
    }


def hooks_of(host: str, entry: Mapping[str, object], *, scale: int = 1) -> dict[str, Any]:
    """Return the hooks of a program. `scale`: how many units of its timeouts are a second."""
    groups = {}
    for event, kind in programs.host(host).events.items():
        seconds = install_plan.HOOK_SECONDS
        if event == "SessionEnd":
            seconds = install_plan.END_SECONDS
        elif kind == "start":
            seconds = FIRST_START_SECONDS
        groups[event] = [{"hooks": [{"type": "command", **entry, "timeout": seconds * scale}]}]
    return {"hooks": groups}


def built_wheel() -> Path:
    """Return the wheel of the project."""
    folder = PROJECT / "build" / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    command = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel")
    subprocess.run((*command, "--no-deps", "--wheel-dir", str(folder), str(PROJECT)), check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


# --- Claude Code, and Codex ---


def write_marketplace(folder: Path) -> Path:
    """Write a marketplace with one plugin. Codex reads it too, and fills in no settings."""
    plugin = folder / "plugins" / NAME
    owner = {"name": TABLE["author"]}
    entry = {
        "name": NAME,
        "source": f"./plugins/{NAME}",
        "description": SUMMARY,
        "version": VERSION,
        "category": "productivity",
    }
    write_json(
        folder / ".claude-plugin" / "marketplace.json",
        {"name": NAME, "owner": owner, "description": SUMMARY, "plugins": [entry]},
    )
    manifest = about(
        author=owner,
        homepage=REPOSITORY,
        repository=REPOSITORY,
        license=TABLE["license"],
        keywords=TABLE["keywords"],
        userConfig=questions(),
    )
    write_json(plugin / ".claude-plugin" / "plugin.json", manifest)
    start = f"${{CLAUDE_PLUGIN_ROOT}}/{START}"
    command, *args = start_words(start, "hook", "claude-code", **ANSWERS)
    hooks = hooks_of("claude-code", {"command": command, "args": args})
    write_json(plugin / "hooks" / "hooks.json", hooks)
    command, *args = start_words(start, "mcp", "--host", "claude-code", **ANSWERS)
    server = {"type": "stdio", "command": command, "args": args}
    write_json(plugin / ".mcp.json", {"mcpServers": {NAME: server}})
    _write_for_codex(plugin, manifest)
    write_text(plugin / "README.md", text_of("plugin.md"))
    write_skill(plugin)
    write_start(plugin)
    return folder


def _write_for_codex(plugin: Path, manifest: Mapping[str, object]) -> None:
    """Write what Codex reads of the plugin in place of the files of Claude Code."""
    # Codex asks for no settings, runs a hook without its `args`, and replaces no variable in the
    # arguments of a server.
    files = {"hooks": f"./{CODEX_HOOKS}", "mcpServers": f"./{CODEX_SERVERS}", "skills": "./skills"}
    own = {key: value for key, value in manifest.items() if key != "userConfig"} | files
    write_json(plugin / ".codex-plugin" / "plugin.json", own)
    line = shell_line(start_words(f"${{PLUGIN_ROOT}}/{START}", "hook", "codex"))
    write_json(plugin / CODEX_HOOKS, hooks_of("codex", {"command": line}))
    command, *args = start_words(f"./{START}", "mcp", "--host", "codex")
    variables = [setting["variable"] for setting in SETTINGS.values()]
    server = {"command": command, "args": args, "cwd": ".", "env_vars": [*variables, *codex.PLACES]}
    write_json(plugin / CODEX_SERVERS, {"mcpServers": {NAME: server}})


# --- Gemini CLI and Qwen Code ---


def write_gemini(folder: Path) -> Path:
    """Write the extension of Gemini CLI, which counts timeouts in milliseconds."""
    hooks = hooks_of("gemini-cli", _hook_of_extension("extensionPath", "gemini-cli"), scale=1000)
    return _write_extension(folder, "gemini-extension.json", "gemini-cli", hooks)


def write_qwen(folder: Path) -> Path:
    """Write the extension of Qwen Code, which names its folder as Claude Code does."""
    hooks = hooks_of("qwen-code", _hook_of_extension("CLAUDE_PLUGIN_ROOT", "qwen-code"))
    return _write_extension(folder, "qwen-extension.json", "qwen-code", hooks)


def _hook_of_extension(root: str, host: str) -> dict[str, object]:
    """Return the command of a hook. `root`: the variable for the folder of the extension."""
    return {"command": shell_line(start_words(f"${{{root}}}/{START}", "hook", host))}


def _write_extension(folder: Path, manifest: str, host: str, hooks: Mapping[str, object]) -> Path:
    """Write an extension. Its program asks for the settings, and keeps them in a file beside it."""
    settings = [
        {
            "name": setting["title"],
            "description": setting["description"],
            "envVar": setting["variable"],
        }
        for setting in SETTINGS.values()
    ]
    command, *args = start_words(f"${{extensionPath}}/{START}", "mcp", "--host", host)
    server = {"command": command, "args": args}
    write_json(folder / manifest, about(settings=settings, mcpServers={NAME: server}))
    write_json(folder / "hooks" / "hooks.json", hooks)
    write_skill(folder)
    write_start(folder)
    return folder


# --- Claude Desktop, and the registry ---


def write_bundle(file: Path, wheel: Path) -> Path:
    """Write a bundle with the wheel, whose environment `uv` makes at the first start."""
    run = ["run", "--quiet", "--directory", "${__dirname}", "server.py"]
    words = ["mcp", "--host", "claude-desktop", "--vault", ANSWERS["vault"]]
    manifest = {
        "manifest_version": "0.4",
        "display_name": TITLE,
        **about(
            long_description=DESCRIPTION,
            author={"name": TABLE["author"]},
            repository={"type": "git", "url": REPOSITORY},
            license=TABLE["license"],
            keywords=TABLE["keywords"],
        ),
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": [*run, *words, "--user", ANSWERS["person"]]},
        },
        "tools": [
            {"name": tool["name"], "description": tool["description"]}
            for tool in tools.list_tools()["tools"]
        ],
        "user_config": questions(),
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
    }
    texts = {
        "manifest.json": json.dumps(manifest, indent=2, ensure_ascii=False) + "\n",
        "pyproject.toml": text_of("bundle.toml").replace("@WHEEL@", wheel.name),
        "server.py": text_of("bundle_server.py"),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in texts.items():
            bundle.writestr(name, text)
        bundle.write(wheel, wheel.name)
    return file


def write_registry_entry(file: Path, bundle: Path) -> Path:
    """Write the entry of the registry of MCP servers: the package on PyPI, and the bundle."""
    folder, person = SETTINGS["vault"], SETTINGS["person"]
    arguments = [
        {"type": "positional", "value": "mcp"},
        {
            "type": "named",
            "name": "--vault",
            "description": folder["description"],
            "format": "filepath",
            "isRequired": True,
        },
        {
            "type": "named",
            "name": "--user",
            "description": person["description"],
            "isRequired": False,
        },
    ]
    stdio = {"type": "stdio"}
    python = {
        "registryType": "pypi",
        "identifier": NAME,
        "version": VERSION,
        "runtimeHint": "uvx",
        "transport": stdio,
        "packageArguments": arguments,
    }
    desktop = {
        "registryType": "mcpb",
        "identifier": f"{REPOSITORY}/releases/download/v{VERSION}/{bundle.name}",
        "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
        "transport": stdio,
    }
    entry = {
        "$schema": SERVER_SCHEMA,
        "name": TABLE["registry_name"],
        "title": TITLE,
        "description": SUMMARY,
        "version": VERSION,
        "websiteUrl": REPOSITORY,
        "repository": {"url": REPOSITORY, "source": "github"},
        "packages": [python, desktop],
    }
    return write_json(file, entry)


# --- Plugins that run inside a program ---


def write_openclaw(folder: Path) -> Path:
    """Write the plugin of OpenClaw, which asks for the settings in its own configuration."""
    listed = [
        {name: tool[name] for name in ("name", "title", "description", "inputSchema")}
        for tool in tools.list_tools()["tools"]
    ]
    settings = ", ".join(f'api.pluginConfig?.{name} ?? ""' for name in SETTINGS)
    program = _in_javascript(
        "openclaw_plugin.js",
        "openclaw",
        TOOLS=json.dumps(listed, ensure_ascii=False),
        AT_START=f"for (const words of [HOOK, SERVER]) words.splice(2, 2, {settings})",
    )
    properties: dict[str, object] = {
        name: {"type": "string", "description": setting["description"]}
        for name, setting in SETTINGS.items()
    }
    properties["dreaming"] = {"type": "object"}
    manifest = {
        "id": NAME,
        "name": TITLE,
        "description": SUMMARY,
        "version": VERSION,
        "kind": "memory",
        "categories": ["memory"],
        "activation": {"onStartup": True},
        "contracts": {"tools": [tool["name"] for tool in listed]},
        "configSchema": {"type": "object", "additionalProperties": False, "properties": properties},
    }
    write_json(folder / "openclaw.plugin.json", manifest)
    write_text(folder / "README.md", text_of("openclaw.md"))
    _write_npm(
        folder,
        f"{NAME}-openclaw",
        program,
        openclaw={"extensions": ["./index.js"], "compat": {"pluginApi": f">={OPENCLAW}"}},
    )
    return folder


def write_opencode(folder: Path) -> Path:
    """Write the plugin of opencode, which takes the settings from variables."""
    _write_npm(
        folder,
        f"{NAME}-opencode",
        _in_javascript(
            "opencode_plugin.js",
            "opencode",
            CONFIG="config: async (config) => {\n"
            f'      (config.mcp ??= {{}})["{NAME}"] ??= {{ type: "local", command: @SERVER@ }}\n'
            "    },",
        ),
        main="./index.js",
    )
    return folder


def write_hermes(folder: Path) -> Path:
    """Write the provider of Hermes, which takes the settings from variables."""
    start = f'os.path.join(os.path.dirname(os.path.abspath(__file__)), "{START}")'
    text = _without_mark(install_plan.template("hermes_provider.py"))
    write_text(folder / "__init__.py", _with_commands(text, "hermes", start))
    described = _without_mark(install_plan.template("hermes_plugin.yaml"))
    described = re.sub(r"(?m)^version: .*$", f"version: {VERSION}", described)
    write_text(folder / "plugin.yaml", described)
    write_start(folder)
    return folder


def _with_commands(text: str, host: str, start: str) -> str:
    """Return a template with its commands. `start`: the expression for the path of the script."""
    for mark, words in {"@HOOK@": ("hook", host), "@SERVER@": ("mcp", "--host", host)}.items():
        command = ", ".join(map(json.dumps, start_words("@", *words)))
        text = text.replace(mark, "[" + command.replace('"@"', start) + "]")
    return text


def _in_javascript(template: str, host: str, **values: str) -> str:
    """Return a template with commands that find the script beside it."""
    start = f'decodeURIComponent(new URL("./{START}", import.meta.url).pathname)'
    text = _without_mark(install_plan.template(template))
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return _with_commands(text, host, start)


def _without_mark(text: str) -> str:
    """Return a template without the line by which `install --uninstall` knows its files."""
    first, _, rest = text.partition("\n")
    return rest if "Written by `vault-memory install" in first else text


def _write_npm(folder: Path, name: str, program: str, **more: object) -> None:
    files = sorted({"index.js", START, *(path.name for path in folder.glob("*.*"))})
    package = {
        **about(license=TABLE["license"], keywords=TABLE["keywords"]),
        "name": name,
        "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"},
        "type": "module",
        "files": files,
        **more,
    }
    write_json(folder / "package.json", package)
    write_text(folder / "index.js", program)
    write_start(folder)


# --- llms.txt ---


def links() -> str:
    """Return the pages of the documentation, as https://llmstxt.org lists them."""
    lines = [f"# {TITLE}", "", f"> {DESCRIPTION}", ""]
    for line in (PROJECT / "docs" / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("**"):
            lines += [f"## {line.strip('*').partition(',')[0]}", ""]
        lines += _entries(line)
    return "\n".join(lines) + "\n"


def _entries(line: str) -> Iterable[str]:
    for title, path in re.findall(r"\[([^\]]+)\]\(([^)]+\.md)\)", line):
        yield f"- [{title}]({REPOSITORY}/blob/main/docs/{path})"


if __name__ == "__main__":
    main()
