"""What a service manager has to be told to keep a daemon running: as a unit of systemd, or a property list of launchd.

Paths are written so that the manager reads exactly them, whatever is in them; those that it cannot read are refused.
"""

from dataclasses import dataclass
from pathlib import Path

from vault_memory.errors import UsageError
from vault_memory.models.telemetry import OPT_OUTS

WATCHDOG_SECONDS = 300
"""Without a sign of life for so long the daemon is started anew; one look at a large vault is well within it"""
TEMPORARY = ("/tmp", "/var/tmp")


class PathNotTaken(UsageError):
    """The service manager cannot be told this path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"no service can be made with the path {path!r}: {reason}",
            hint="use one without that",
        )


@dataclass(frozen=True, slots=True)
class Job:
    """The daemon of one vault, as it is to be run. All paths are absolute."""

    name: str
    """of the unit, without its suffix"""
    vault: Path
    program: tuple[str, ...]
    """the words that start vault-memory"""
    config: Path | None
    """the configuration file, when it is not the usual one"""
    states: Path
    """the folder of all vaults' states"""
    state: Path
    """that of this vault"""
    cache: Path
    owner: str
    """as whom it runs when the machine's own service manager runs it; empty for that of a person"""

    @property
    def command(self) -> tuple[str, ...]:
        """All the words that start the daemon."""
        config = ("--config", str(self.config)) if self.config else ()
        return (*self.program, "--quiet", "run", "--vault", str(self.vault), *config)

    @property
    def environment(self) -> dict[str, str]:
        """What it has to know, since a service manager has another environment than a terminal."""
        return {
            "VAULT_MEMORY_STATE": str(self.states),
            "VAULT_MEMORY_CACHE": str(self.cache),
            **OPT_OUTS,
        }


def systemd_unit(job: Job) -> str:
    """Raises PathNotTaken."""
    program, *rest = job.command
    if any(letter in program for letter in "\\\"'"):
        raise PathNotTaken(
            program, "systemd starts no program with quotes or backslashes in its name"
        )
    # A colon before the program: dollars in the words are dollars.
    words = [_quoted(f":{program}"), *map(_quoted, rest)]
    written = [_quoted(str(path)) for path in (job.vault, job.state)]
    lines = [
        "[Unit]",
        f"Description={_plain(f'vault-memory ({job.vault})')}",
        *([f"RequiresMountsFor={' '.join(written)}"] if job.owner else []),
        "",
        "[Service]",
        "Type=notify",
        f"ExecStart={' '.join(words)}",
        *(
            f"Environment={_quoted(f'{name}={value}')}"
            for name, value in job.environment.items()
        ),
        *([f"User={_plain(job.owner)}"] if job.owner else []),
        "Restart=on-failure",
        "RestartSec=10",
        "# What was asked or configured wrongly will not be right the next time.",
        "RestartPreventExitStatus=2 3",
        f"WatchdogSec={WATCHDOG_SECONDS}",
        "# No image of what is remembered is left behind by a crash.",
        "LimitCORE=0",
        "",
        f"ReadWritePaths={' '.join(written)} {_quoted(f'-{job.cache}')}",
        *_walls(job),
        "",
        "[Install]",
        f"WantedBy={'multi-user' if job.owner else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _walls(job: Job) -> list[str]:
    """What it may not do. A person's service manager cannot take away capabilities."""
    used = (
        job.vault,
        job.state,
        job.cache,
        Path(job.program[0]),
        *([job.config] if job.config else []),
    )
    own_tmp = not any(
        path.is_relative_to(folder) for path in used for folder in TEMPORARY
    )
    everywhere = [
        "ProtectSystem=strict",
        *(["PrivateTmp=yes"] if own_tmp else []),
        "NoNewPrivileges=yes",
        "LockPersonality=yes",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "SystemCallArchitectures=native",
    ]
    of_the_machine = [
        "CapabilityBoundingSet=",
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelTunables=yes",
    ]
    return everywhere + (of_the_machine if job.owner else [])


def launchd_list(job: Job) -> str:
    """Raises PathNotTaken."""
    import plistlib

    for word in (*job.command, *job.environment.values(), str(job.state)):
        _checked(word)
    told: dict[str, object] = {
        "Label": job.name,
        "ProgramArguments": list(job.command),
        "EnvironmentVariables": job.environment,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "HardResourceLimits": {"Core": 0},
        "StandardErrorPath": str(job.state / "daemon.log"),
    }
    if job.owner:
        told["UserName"] = job.owner
    return plistlib.dumps(told, sort_keys=False).decode()


def _quoted(word: str) -> str:
    """One word of a setting that takes several."""
    escaped = _checked(word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped.replace("%", "%%")}"'


def _plain(text: str) -> str:
    """All of a setting; a backslash at its end would go on with the next line."""
    return _checked(text).replace("%", "%%")


def _checked(word: str) -> str:
    if any(letter < " " or letter == "\x7f" for letter in word):
        raise PathNotTaken(word, "it has control characters in it")
    if any("\ud800" <= letter <= "\udfff" for letter in word):
        raise PathNotTaken(word, "it is not UTF-8")
    return word
