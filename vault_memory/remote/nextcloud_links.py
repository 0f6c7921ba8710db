"""Links that people copy from a Nextcloud: which folder of the account each of them means, or why it means none."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from vault_memory.errors import ConfigError

SHARE = "it is a public share, which has no account, keeps no versions for it, and is not safe to sync"
OWN_CLOUD = "add the share to a Nextcloud account of yours, and give the address of that Nextcloud"

_FRONT = r"(?P<base>.*?)(?:/index\.php)?"
_PUBLIC = re.compile(
    r"(?P<base>.*?)(?:/public\.php(?:/.*)?|/index\.php/s/[^/]+(?:/.*)?)"
)
_MAYBE_PUBLIC = re.compile(r"(?P<base>.*?)/s/[0-9A-Za-z]{8,}(?:/.*)?")
_FILE = re.compile(rf"{_FRONT}/f/[0-9]+/?")
_FILES_APP = re.compile(rf"{_FRONT}/apps/files(?:/.*)?")
_LEGACY = re.compile(
    r"(?P<base>.*?)/remote\.php/(?:web)?dav(?P<folder>(?<=/webdav)(?:/.*)?|)/?"
)
_ACCOUNT = re.compile(r"(?P<base>.*?)/remote\.php/dav/files/[^/]+(?:/.*)?")
_DAV = re.compile(r"(?P<base>.*?)/remote\.php(?:/dav(?:/files)?)?/?")
_OTHER_DAV = re.compile(r"(?P<base>.*?)/remote\.php/.*")
_PAGE = re.compile(
    r"(?P<base>.*?)/(?:index\.php|apps|login|settings|status\.php|core|ocs)(?:/.*)?"
)


@dataclass(frozen=True, slots=True)
class Link:
    """A link, read by its form alone."""

    base: str
    """the path at which the Nextcloud would be, percent-encoded"""
    folder: str = ""
    """decoded, below the account's files"""
    is_account: bool = False
    """it is the address of an account's files already"""
    is_certain: bool = False
    """no other server has links of this form"""
    problem: str = ""
    hint: str = ""


def read_link(url: str) -> Link:
    """What a link means if a Nextcloud made it."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    start = f"{parts.scheme}://{parts.netloc}"
    if match := _PUBLIC.fullmatch(path):
        return Link(match["base"], is_certain=True, problem=SHARE, hint=OWN_CLOUD)
    if _ACCOUNT.fullmatch(path):
        return Link("", is_account=True, is_certain=True)
    if match := _LEGACY.fullmatch(path):
        return Link(
            match["base"], folder=unquote(match["folder"]).strip("/"), is_certain=True
        )
    if match := _DAV.fullmatch(path):
        return Link(match["base"], is_certain=True)
    if match := _OTHER_DAV.fullmatch(path):
        hint = f"give `{start}{match['base'] or '/'}`"
        return Link(
            match["base"],
            is_certain=True,
            problem="it is not the address of an account's files",
            hint=hint,
        )
    if match := _FILES_APP.fullmatch(path):
        folder = parse_qs(parts.query).get("dir", [""])[0]
        return Link(match["base"], folder=folder.strip("/"))
    if match := _FILE.fullmatch(path):
        hint = (
            f"give `{start}{match['base'] or '/'}`, and name the folder with `--folder`"
        )
        return Link(
            match["base"],
            problem="it is a link to one file or folder by its number",
            hint=hint,
        )
    if match := _MAYBE_PUBLIC.fullmatch(path):
        return Link(match["base"], problem=SHARE, hint=OWN_CLOUD)
    if match := _PAGE.fullmatch(path):
        return Link(match["base"])
    return Link(path)


def refused(link: Link) -> ConfigError:
    """The error for a link that names nothing to sync with."""
    return ConfigError(
        f"this address cannot be synced with: {link.problem}", hint=link.hint
    )
