"""What `install` writes for a host: the request, the plan, and the functions for plans."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vault_memory.addons.hosts.config_edits import SERVER_NAME, Edit, HookGroup, JsonEdit, Member

HOOK_SECONDS = 10
"""How long a host waits for a hook"""
END_SECONDS = 3
"""At the end of a conversation, where Codex waits no longer"""
PROJECTS_ONLY = "--projects"
"""The flag of a hook that is silent outside the folders of projects"""


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """The program, the vault and the person with which `install` connects a host."""

    program: tuple[str, ...]
    """The command that runs this program: an absolute path, with what Python needs to run it"""
    vault: Path
    user: str
    channel: str = ""
    config: Path | None = None
    private: bool = False
    """In a channel: open the person's own memory, too"""
    allow: bool = False
    """Whether the host may use our tools without asking a person each time"""
    groups: tuple[str, ...] = ()
    project: Path | None = None
    """The folder of the code, beside which the server goes; None: all that the person does"""
    tools: tuple[Mapping[str, object], ...] = ()
    """The tools of the MCP server, for a host whose plugin offers them itself"""

    def command(self, *subcommand: str) -> list[str]:
        """Return the words of a command line.

        The subcommand comes first: a hook then starts without the full command line.
        """
        words = [*self.program, *subcommand]
        words += ["--vault", str(self.vault), "--user", self.user]
        if self.channel:
            words += ["--channel", self.channel]
        for group in self.groups:
            words += ["--group", group]
        if self.private:
            words.append("--private")
        if self.config is not None:
            words += ["--config", str(self.config)]
        return words

    def hook_words(self, host: str) -> list[str]:
        """Return the command line of the hook.

        Hooks of a project are those of the person, which find the project by its folder: a second
        set beside the code would record each prompt twice.
        """
        if self.project is None:
            return self.command("hook", host)
        # The folder names the channel and the group when the hook runs.
        own = replace(self, channel="", groups=(), private=False)
        return [*own.command("hook", host), PROJECTS_ONLY]

    @property
    def mark(self) -> str:
        """The word in our hooks that a plan for a project may change; empty for all hooks."""
        return "" if self.project is None else PROJECTS_ONLY


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The edits of a host's files, and the steps that remain for the person."""

    edits: tuple[tuple[Path, Edit], ...]
    next_steps: tuple[str, ...]
    shared: tuple[tuple[Path, Edit], ...] = ()
    """Of a project: the edits that it shares with other projects, such as hooks"""


def home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def folder_named_by(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """Return the folder that a variable names, else the default folder below the home."""
    named = environment.get(variable, "").strip()
    return Path(named).expanduser() if named else home(environment) / default


def server_command(host: str, request: InstallRequest) -> list[str]:
    """Return the command line of the MCP server, which notes for this host that it ran."""
    return [*request.command("mcp"), "--host", host]


def server_entry(host: str, request: InstallRequest, **more: object) -> dict[str, object]:
    """Return the entry of the MCP server, as most hosts have it."""
    program, *arguments = server_command(host, request)
    return {**more, "command": program, "args": arguments}


def server_edit(
    host: str, request: InstallRequest, path: Iterable[str], *, strict: bool = True, **more: object
) -> JsonEdit:
    """Return the edit that puts the MCP server under its name into the object at `path`."""
    entry = server_entry(host, request, **more)
    return JsonEdit((Member((*path, SERVER_NAME), entry),), strict)


def hook_command(host: str, request: InstallRequest, *, timeout: int) -> dict[str, object]:
    """Return the entry of a hook. Some hosts count `timeout` in milliseconds."""
    command = shlex.join(request.hook_words(host))
    return {"type": "command", "command": command, "timeout": timeout}


def hook_commands(
    host: str, request: InstallRequest, events: Iterable[str]
) -> dict[str, dict[str, object]]:
    """Return the hook of each event, with a timeout in seconds."""
    return {
        event: hook_command(
            host, request, timeout=END_SECONDS if event == "SessionEnd" else HOOK_SECONDS
        )
        for event in events
    }


def hook_groups(
    host: str, request: InstallRequest, commands: Mapping[str, dict[str, object]]
) -> tuple[HookGroup, ...]:
    """Return the settings of hooks in JSON: for each event a list of groups of commands."""
    return tuple(
        HookGroup(("hooks", event), {"hooks": [command]}, host, request.mark)
        for event, command in commands.items()
    )


def template(name: str, without: str = "") -> str:
    """Return the text of a file that runs inside a host and calls this program.

    `without` is a mark: its line has no meaning for `install`, and is left out.
    """
    file = Path(__file__).parent / "templates" / f"{name}.txt"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not without or line.strip() != f"@{without}@")
