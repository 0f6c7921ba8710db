"""From what a person types to the remote that fits: Nextcloud by its address, or because the server says so."""

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from vault_memory.errors import ConfigError
from vault_memory.remote.address import address
from vault_memory.remote.contract import Capabilities
from vault_memory.remote.http_transport import (
    Account,
    NoAnswer,
    NotSent,
    Transport,
    is_redirect,
)
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.nextcloud_links import read_link, refused
from vault_memory.remote.remote_errors import NotUnderstood
from vault_memory.remote.status_errors import unreachable
from vault_memory.remote.webdav import WebDav

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

_DEADLINE = 30.0


def open_remote(
    url: str,
    account: Account,
    *,
    traits: Capabilities | None = None,
    adapter: "BaseAdapter | None" = None,
) -> WebDav:
    """The remote for a URL as it stands in the configuration; nothing is asked yet. Raises ConfigError."""
    at = address(url)
    link = read_link(url)
    if link.is_certain and link.problem:
        raise refused(link)
    kind = Nextcloud if "/remote.php/" in at.url else WebDav
    return kind(url, account, traits=traits, adapter=adapter)


def find(url: str, account: Account, *, adapter: "BaseAdapter | None" = None) -> str:
    """The URL for the configuration: of the person's files where a Nextcloud lives at ``url``, else ``url`` itself.

    Any link that a person copies from a Nextcloud is understood, or refused with the one to take. Sends no password.
    Raises ConfigError, RemoteUnreachable.
    """
    link = read_link(url)
    origin = address(url.partition("?")[0].partition("#")[0]).origin
    if link.is_account:
        return address(url).url.rstrip("/")
    if not link.is_certain and not _is_nextcloud(origin, link.base, account, adapter):
        return address(url).url.rstrip("/")
    if link.problem:
        raise refused(link)
    if not account.user:
        raise ConfigError(
            "a Nextcloud needs to know whose files are meant",
            hint="name the account with `--user`",
        )
    files = f"{origin}{link.base}/remote.php/dav/files/{quote(account.user, safe='@')}"
    return f"{files}/{quote(link.folder)}" if link.folder else files


def is_account_root(url: str) -> bool:
    """Whether it is the address of all the files of a Nextcloud account, and not of a folder in them."""
    return bool(re.fullmatch(r".*/remote\.php/dav/files/[^/]+/?", url))


def _is_nextcloud(
    origin: str, base: str, account: Account, adapter: "BaseAdapter | None"
) -> bool:
    """Whether it says of itself that it is a Nextcloud. Raises ConfigError when it sends us to another address."""
    quiet = Account(proxy=account.proxy, ca_file=account.ca_file)
    transport = Transport(origin, quiet, deadline=_DEADLINE, adapter=adapter)
    try:
        answer = transport.ask("poll", f"{base}/status.php")
        status = json.loads(answer.body) if answer.status == 200 else None
    except NotSent as error:
        raise unreachable(error) from None
    except NoAnswer as error:
        raise NotUnderstood(str(error)) from None
    except ValueError:
        status = None
    finally:
        transport.close()
    if is_redirect(answer.status):
        _refuse_redirect(origin, base, answer.header("Location"))
    return (
        isinstance(status, dict)
        and status.get("installed") is True
        and "versionstring" in status
    )


def _refuse_redirect(origin: str, base: str, location: str) -> None:
    """Many servers send from http:// to https://, or from the bare host to where the Nextcloud is."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "http", "https") or "@" in parts.netloc:
        return
    there = f"{parts.scheme}://{parts.netloc}" if parts.netloc else origin
    path = parts.path.removesuffix("/status.php")
    is_page = path == parts.path
    if there == origin and (is_page or path == base):
        return
    instead = there if is_page else f"{there}{path}"
    raise ConfigError(
        "the server at this address sends us to another one",
        hint=f"if you trust it, give `{instead}`",
    )
