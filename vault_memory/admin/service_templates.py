"""Writes the unit of systemd or the property list of launchd that runs a daemon or a host.

Paths are quoted so that the service manager reads exactly them. A path that it cannot read is
refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vault_memory.errors import UsageError
from vault_memory.models.telemetry import OPT_OUTS

WATCHDOG_SECONDS = 300
"""The daemon is restarted after this time without a sign of life; a large scan takes less"""
OPEN_FILES = 65536
"""An open vault of a host needs up to 16 open files"""
TEMPORARY_FOLDERS = ("/tmp", "/var/tmp")
SANDBOX = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallArchitectures=native",
)
MACHINE_SANDBOX = (
    "CapabilityBoundingSet=",
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
)
"""Only the service manager of the machine can take away capabilities"""


class PathNotTaken(UsageError):
    """systemd or launchd cannot run a program with this path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"a service cannot use the path {path!r}: {reason}",
            hint="rename the folder or the file",
        )


@dataclass(frozen=True, slots=True)
class Job:
    """A daemon or a host as a service. All paths are absolute."""

    name: str
    """Name of the unit, without its suffix"""
    title: str
    """What the service works on, for people"""
    program: tuple[str, ...]
    """The words that start vault-memory"""
    arguments: tuple[str, ...]
    """The command and its options"""
    config: Path | None
    """The configuration file; None for the usual one"""
    state_root: Path
    """The folder with the state folders of all vaults"""
    folders: tuple[Path, ...]
    """The folders that the service writes to, except for the cache"""
    log: Path
    """The file for the output of a service of launchd"""
    cache: Path
    owner: str
    """The account that the service manager of the machine uses; empty for that of a user"""
    is_host: bool = False
    """Whether it serves many vaults"""

    @property
    def command(self) -> tuple[str, ...]:
        """Return all words that start the service."""
        config = ("--config", str(self.config)) if self.config else ()
        return (*self.program, "--quiet", *self.arguments, *config)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that a service manager does not set as a terminal does."""
        return {
            "VAULT_MEMORY_STATE": str(self.state_root),
            "VAULT_MEMORY_CACHE": str(self.cache),
            **OPT_OUTS,
        }


def systemd_unit(job: Job) -> str:
    """Return the unit of a job. Raises PathNotTaken."""
    lines = [
        "[Unit]",
        *_unit_section(job),
        "",
        "[Service]",
        *_service_section(job),
        "",
        f"ReadWritePaths={_writable(job)} {_quoted(f'-{job.cache}')}",
        *_sandbox(job),
        "",
        "[Install]",
        f"WantedBy={'multi-user' if job.owner else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _unit_section(job: Job) -> Iterator[str]:
    yield f"Description={_plain(f'vault-memory ({job.title})')}"
    if job.owner:
        yield f"RequiresMountsFor={_writable(job)}"
    if job.owner and job.is_host:
        # Other machines reach it, or it reaches them.
        yield "Wants=network-online.target"
        yield "After=network-online.target"


def _service_section(job: Job) -> Iterator[str]:
    yield "Type=notify"
    yield f"ExecStart={_exec_start(job)}"
    for name, value in job.environment.items():
        yield f"Environment={_quoted(f'{name}={value}')}"
    if job.owner:
        yield f"User={_plain(job.owner)}"
    yield "Restart=on-failure"
    yield "RestartSec=10"
    yield "# What was asked or configured wrongly will not be right the next time."
    yield "RestartPreventExitStatus=2 3"
    yield f"WatchdogSec={WATCHDOG_SECONDS}"
    yield "# No image of what is remembered is left behind by a crash."
    yield "LimitCORE=0"
    if job.is_host:
        yield f"LimitNOFILE={OPEN_FILES}"


def _exec_start(job: Job) -> str:
    program, *arguments = job.command
    if any(letter in program for letter in "\\\"'"):
        raise PathNotTaken(
            program, "systemd cannot start a program with quotes or backslashes in its name"
        )
    # The colon before the program keeps systemd from replacing `$NAME` in the words.
    return " ".join(map(_quoted, [f":{program}", *arguments]))


def _writable(job: Job) -> str:
    return " ".join(_quoted(str(folder)) for folder in job.folders)


def _sandbox(job: Job) -> Iterator[str]:
    """Yield the settings that limit what the daemon may do."""
    yield "ProtectSystem=strict"
    # A private /tmp would hide a vault or a program that is in /tmp.
    if not _uses_temporary_folder(job):
        yield "PrivateTmp=yes"
    yield from SANDBOX
    if job.owner:
        yield from MACHINE_SANDBOX


def _uses_temporary_folder(job: Job) -> bool:
    paths = [*job.folders, job.cache, Path(job.program[0])]
    if job.config:
        paths.append(job.config)
    return any(path.is_relative_to(folder) for path in paths for folder in TEMPORARY_FOLDERS)


def launchd_list(job: Job) -> str:
    """Return the property list of a job. Raises PathNotTaken."""
    import plistlib

    for word in (*job.command, *job.environment.values(), str(job.log)):
        _checked(word)
    properties: dict[str, object] = {
        "Label": job.name,
        "ProgramArguments": list(job.command),
        "EnvironmentVariables": job.environment,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "HardResourceLimits": {"Core": 0},
        "StandardErrorPath": str(job.log),
    }
    if job.is_host:
        properties["SoftResourceLimits"] = {"NumberOfFiles": OPEN_FILES}
    if job.owner:
        properties["UserName"] = job.owner
    return plistlib.dumps(properties, sort_keys=False).decode()


def _quoted(word: str) -> str:
    """Return one word of a setting that takes several."""
    escaped = _checked(word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped.replace("%", "%%")}"'


def _plain(text: str) -> str:
    """Return the complete value of a setting. It must not end with a backslash."""
    return _checked(text).replace("%", "%%")


def _checked(word: str) -> str:
    if any(letter < " " or letter == "\x7f" for letter in word):
        raise PathNotTaken(word, "it contains control characters")
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        raise PathNotTaken(word, "it is not UTF-8")
    return word
