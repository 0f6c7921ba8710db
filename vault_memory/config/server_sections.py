"""The sections of the configuration about servers: `serve`, `web`, `talk` and `fleet`."""

import re
from typing import NamedTuple

TRUE_REACTIONS = (22, 0, 9)
"""The first version of Talk whose events name the author of a reaction"""
EMOJI_VARIANT = "\ufe0f"
"""Emoji presentation selector, which only some clients send"""
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}")


class ServeToken(NamedTuple):
    """A bot with access over HTTP, and the scopes it may use."""

    user: str
    """The user whose notes this token opens"""
    token_file: str
    """The file with the token of at least 32 characters, outside the vault and readable only by
    its owner"""
    channel: str = ""
    """The channel where the bot answers: opens its notes instead of the user's own"""
    groups: tuple[str, ...] = ()
    """Groups whose notes the token also opens"""
    private: bool = False
    """With `channel`: also open the user's own notes, although all members of the channel read
    the answers"""
    confirms: bool = False
    """The client asks the user itself: what it says the user accepted is done, and does not wait in
    `INBOX.md`"""


class Serve(NamedTuple):
    """How `serve` listens, and who has access. Others reach it only through a server with TLS."""

    host: str = "127.0.0.1"
    """The address to listen on"""
    port: int = 8377
    """The port to listen on"""
    socket: str = ""
    """Listen on this Unix socket instead, which only its owner can open"""
    allowed_hosts: tuple[str, ...] = ()
    """Accepted `Host` names in addition to those of this machine and `host`, such as
    `memory.example.org`"""
    allowed_origins: tuple[str, ...] = ()
    """Origins of pages that may send requests from a browser, such as `https://chat.example.org`"""
    tokens: tuple[ServeToken, ...] = ()
    """The bots with access"""
    metrics_token_file: str = ""
    """The file with the token for `/metrics`, outside the vault and readable only by its owner;
    the metrics cover all scopes, and with `host` and `fleet host` all vaults; empty: only requests
    over `socket` without a token may read them"""


class HostSettings(NamedTuple):
    """How `host` serves many vaults. Only the file of `host --config` uses this section."""

    most_open: int = 1000
    """Vaults that are open at once; of the others only changes are noticed"""
    idle_seconds: float = 60.0
    """Seconds without a request after which a vault is closed"""


class Web(NamedTuple):
    """The page in a browser."""

    editor_url: str = ""
    """Link to a note in an editor, such as `vscode://file/{path}:{line}`"""


class TalkRoom(NamedTuple):
    """A room of Nextcloud Talk whose channel has another name."""

    token: str
    """Token of the room, from its URL"""
    channel: str
    """The channel in the vault"""


class TalkPerson(NamedTuple):
    """A user whose Nextcloud account has another name than in the vault."""

    id: str
    """Name of the account"""
    user: str
    """Name of the user in the vault"""


class TalkSettings(NamedTuple):
    """Recording of Nextcloud Talk rooms, whose messages `serve` receives at `/talk`."""

    secret_file: str = ""
    """The file with the secret of the installed Talk bot, outside the vault and readable only by
    its owner; empty: no recording"""
    backend: str = ""
    """URL of the Nextcloud as its `overwrite.cli.url` has it, such as `https://cloud.example.org/`;
    messages of other servers are refused"""
    version: str = ""
    """Version of the Talk app, such as `22.0.9`; `forget_reaction` needs one that names the author
    of a reaction"""
    rooms: tuple[TalkRoom, ...] = ()
    """Rooms with a channel of another name; all other rooms use their token as the channel"""
    people: tuple[TalkPerson, ...] = ()
    """Accounts with another name in the vault; all other accounts keep their name"""
    forget_reaction: str = ""
    """The reaction with which users retract their own message, such as `🗑`; empty: none. Needs
    `version` 22.0.9 or later"""
    forget_by: tuple[str, ...] = ()
    """Accounts that may retract messages of all users"""


def talk_problems(talk: TalkSettings) -> list[str]:
    """Return why a reaction may not retract messages; empty when it may, or none is set."""
    version = _VERSION.fullmatch(talk.version.strip())
    if talk.version and version is None:
        return [
            f"`version` is {talk.version!r}; expected the numbers of a release, such as `22.0.9`"
        ]
    if not talk.forget_reaction.strip(f"{EMOJI_VARIANT} "):
        return []
    # Fault: earlier versions name the author of the message as the author of a reaction. Anybody
    # could delete the messages of everybody. No event shows the version, so a person states it.
    numbers = tuple(map(int, version[0].split("."))) if version else ()
    if numbers >= TRUE_REACTIONS:
        return []
    stated = f"`version` is {talk.version!r}" if version else "`version` is not set"
    return [
        f"`forget_reaction` needs Talk 22.0.9 or later, and {stated}. "
        "Earlier ones name the author of a message as the one who reacted, "
        "so anybody could delete it. Update Talk, and set `version` to what "
        "`occ config:app:get spreed installed_version` prints; "
        "or leave `forget_reaction` out"
    ]


class FleetSettings(NamedTuple):
    """This machine as a host of a fleet: several hosts that share the vaults of many people."""

    database: str = ""
    """The ledger: in PostgreSQL, such as `postgresql://fleet@db.example.org/fleet` without the
    password, or for hosts on one machine in a file of SQLite, such as
    `sqlite:////var/lib/vault-memory/ledger.sqlite`"""
    password_file: str = ""
    """The file with the password of PostgreSQL, readable only by its owner; empty: the variables
    `PGPASSWORD` and `PGPASSFILE`"""
    name: str = ""
    """The name of this host, which no other host of the fleet has; empty: that of the machine"""
    address: str = ""
    """Where the other hosts reach this one, such as `http://10.0.0.5:8377`; empty: the address on
    which it listens"""
    scratch: str = ""
    """Folder for the local copies of vaults; empty: `fleet` in the folder of all states"""
    most_open: int = 200
    """Maximum number of vaults that this host holds at once"""
