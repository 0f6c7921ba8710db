"""Reads the links that people copy from a Nextcloud: the folder that a link names, or why it names none."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from vault_memory.errors import ConfigError
from vault_memory.remote.remote_errors import RootMissing

SHARE = (
    "it is a public share, which has no account, keeps no versions for it, and is not safe to sync"
)
OWN_CLOUD = "add the share to a Nextcloud account of yours, and give the address of that Nextcloud"

_FRONT = r"(?P<base>.*?)(?:/index\.php)?"
_PUBLIC = re.compile(r"(?P<base>.*?)(?:/public\.php(?:/.*)?|/index\.php/s/[^/]+(?:/.*)?)")
_MAYBE_PUBLIC = re.compile(r"(?P<base>.*?)/s/[0-9A-Za-z]{8,}(?:/.*)?")
_FILE = re.compile(rf"{_FRONT}/f/[0-9]+/?")
_FILES_APP = re.compile(rf"{_FRONT}/apps/files(?:/.*)?")
_LEGACY = re.compile(r"(?P<base>.*?)/remote\.php/(?:web)?dav(?P<folder>(?<=/webdav)(?:/.*)?|)/?")
_ACCOUNT = re.compile(r"(?P<base>.*?)/remote\.php/dav/files/[^/]+(?:/.*)?")
_OWNED = re.compile(r"(?P<base>.*?)/remote\.php/dav/files/(?P<owner>[^/]+)(?:/.*)?")
_DAV = re.compile(r"(?P<base>.*?)/remote\.php(?:/dav(?:/files)?)?/?")
_OTHER_DAV = re.compile(r"(?P<base>.*?)/remote\.php/.*")
_PAGE = re.compile(r"(?P<base>.*?)/(?:index\.php|apps|login|settings|status\.php|core|ocs)(?:/.*)?")


@dataclass(frozen=True, slots=True)
class PastedLink:
    """What the form of a link shows."""

    base: str
    """the path of the Nextcloud, percent-encoded"""
    folder: str = ""
    """decoded, below the account's files"""
    is_account: bool = False
    """whether it is the address of an account's files already"""
    is_certain: bool = False
    """whether only a Nextcloud has links of this form"""
    problem: str = ""
    hint: str = ""


def read_link(url: str) -> PastedLink:
    """Read a link by its form; it is only valid if a Nextcloud made it."""
    split = urlsplit(url)
    path = split.path.rstrip("/")
    start = f"{split.scheme}://{split.netloc}"
    link = _dav_link(path, start)
    if link is None:
        link = _page_link(path, start, split.query)
    return link or PastedLink(path)


def _dav_link(path: str, start: str) -> PastedLink | None:
    """A public share or an address of WebDAV, which only a Nextcloud has."""
    if match := _PUBLIC.fullmatch(path):
        return PastedLink(match["base"], is_certain=True, problem=SHARE, hint=OWN_CLOUD)
    if _ACCOUNT.fullmatch(path):
        return PastedLink("", is_account=True, is_certain=True)
    if match := _LEGACY.fullmatch(path):
        folder = unquote(match["folder"]).strip("/")
        return PastedLink(match["base"], folder=folder, is_certain=True)
    if match := _DAV.fullmatch(path):
        return PastedLink(match["base"], is_certain=True)
    if match := _OTHER_DAV.fullmatch(path):
        return PastedLink(
            match["base"],
            is_certain=True,
            problem="it is not the address of an account's files",
            hint=f"give `{start}{match['base'] or '/'}`",
        )
    return None


def _page_link(path: str, start: str, query: str) -> PastedLink | None:
    """A page of the web interface; another server may have such an address, too."""
    if match := _FILES_APP.fullmatch(path):
        folder = parse_qs(query).get("dir", [""])[0]
        return PastedLink(match["base"], folder=folder.strip("/"))
    if match := _FILE.fullmatch(path):
        nextcloud = f"{start}{match['base'] or '/'}"
        return PastedLink(
            match["base"],
            problem="it is a link to one file or folder by its number",
            hint=f"give `{nextcloud}`, and name the folder with `--folder`",
        )
    if match := _MAYBE_PUBLIC.fullmatch(path):
        return PastedLink(match["base"], problem=SHARE, hint=OWN_CLOUD)
    if match := _PAGE.fullmatch(path):
        return PastedLink(match["base"])
    return None


def root_missing(url: str, user: str, *, is_page: bool) -> RootMissing:
    """The error for a folder that is not there, with the cause if its address shows one.

    `is_page`: the answer does not come from a Nextcloud.
    """
    split = urlsplit(url)
    match = _OWNED.fullmatch(split.path)
    if match is None:
        return RootMissing(url)
    nextcloud = f"{split.scheme}://{split.netloc}{match['base']}"
    if is_page:
        return RootMissing(
            url,
            f"no Nextcloud answers at `{nextcloud}/`",
            hint="check the part of the address before `/remote.php`",
        )
    refuse_other_account(url, user)
    return RootMissing(url)


def refuse_other_account(url: str, user: str) -> None:
    """Raise RootMissing for an address among the files of another account."""
    split = urlsplit(url)
    match = _OWNED.fullmatch(split.path)
    owner = unquote(match["owner"]) if match else user
    if match is None or not user or owner.casefold() == user.casefold():
        return
    nextcloud = f"{split.scheme}://{split.netloc}{match['base']}"
    own_files = f"{nextcloud}/remote.php/dav/files/{quote(user, safe='@')}"
    raise RootMissing(
        url,
        f"this is {owner}'s folder, you are {user}",
        hint=f"give a folder below `{own_files}`, or `--user {owner}`",
    )


def refused(link: PastedLink) -> ConfigError:
    """The error for a link that names no folder to sync with."""
    return ConfigError(f"this address cannot be synced with: {link.problem}", hint=link.hint)
