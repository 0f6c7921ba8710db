"""What the program knows of a host: a program in which people talk to a bot.

Each module of `hosts/programs` describes one host. A hook starts at every prompt and imports that
one module, so this module loads nothing that takes time.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    from vault_memory.addons.hosts.install_plan import InstallPlan, InstallRequest
    from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

EventKind = Literal["start", "prompt", "answer", "compact", "end", "turn"]
"""What an event means. A `turn` is a prompt together with its answer."""

Trust = Literal["yes", "no", "not_needed", "unknown"]
"""Whether the person has confirmed to the host what `install` wrote; unknown: it cannot be read"""

CONVERSATION_EVENTS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "answer",
    "PreCompact": "compact",
    "SessionEnd": "end",
}
"""The events of Claude Code, whose names other hosts took over"""


PACKAGE = "vault-memory"
"""The name of our package in each host, which puts the name of a marketplace behind it"""


class TranscriptLine(NamedTuple):
    """One line of the transcript that a host writes."""

    turn: str = ""
    """The id of the turn that begins with this line; empty when the line names none"""
    role: str = ""
    """`assistant` or `user`; "" for a line without words"""
    text: str = ""
    id: str = ""
    """The host's own id of the line; empty when it has none"""


class Host(ABC):
    """A program in which people talk to a bot, and everything that is particular to it."""

    name: ClassVar[str]
    """As `install` and `hook` know it"""
    events: ClassVar[Mapping[str, EventKind]] = {}
    """Each event for which it runs a hook, and its meaning; empty when it runs none"""
    can_allow: ClassVar[bool] = False
    """Whether its configuration says which tools run without asking a person"""
    takes_project: ClassVar[bool] = False
    """Whether it also reads a configuration in the folder of a project"""
    can_adopt: ClassVar[bool] = False
    """Whether the notes that it writes by itself can be in the vault"""
    exchanges: ClassVar[bool] = False
    """Whether it keeps them in a folder of its own, so that its hooks exchange them"""

    @abstractmethod
    def plan(self, request: "InstallRequest", environment: Mapping[str, str]) -> "InstallPlan":
        """Return what goes into which file, and what the person does then."""

    def trust(self, request: "InstallRequest", environment: Mapping[str, str]) -> Trust:
        """Return whether the person has confirmed to the host what `install` wrote."""
        return "not_needed"

    def package_file(self, environment: Mapping[str, str]) -> Path | None:
        """Return the file in which the host names our package; None without the package."""
        return None

    def own_memory(
        self, request: "InstallRequest", environment: Mapping[str, str]
    ) -> "Iterable[OwnMemory]":
        """Return the folders of notes that it writes by itself."""
        return ()

    def common_payload(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the payload of an event under the names that Claude Code gives its fields."""
        return payload

    def format_answer(self, event: str, text: str, notice: str = "") -> str:
        """Return what a hook prints, so that the model reads `text` at this event.

        The person sees `notice`, where the host shows such a line.
        """
        output: dict[str, object] = {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
        }
        if notice:
            output["systemMessage"] = notice
        return json.dumps(output, ensure_ascii=False)

    def transcript_line(self, record: Mapping[str, Any]) -> TranscriptLine:
        """Return what a line of the host's transcript says; empty when it is of no interest."""
        return TranscriptLine()


def is_named(plugins: object) -> bool:
    """Whether our plugin is among those of a host, whose names are keys, and is enabled."""
    if not isinstance(plugins, dict):
        return False
    return any(
        name.partition("@")[0] == PACKAGE and plugin not in (False, {"enabled": False})
        for name, plugin in plugins.items()
    )


def not_of_install(file: Path, mark: str) -> Path | None:
    """Return a file that is no file of `install`, whose files begin with `mark`; None without it."""
    try:
        return None if file.read_text(encoding="utf-8").startswith(mark) else file
    except (OSError, ValueError):
        return None
