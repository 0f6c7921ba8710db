"""Opens the remote for an address, and finds the address for what a person types."""

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from vault_memory.addons import table
from vault_memory.errors import ConfigError
from vault_memory.remote.address import address
from vault_memory.remote.contract import Remote
from vault_memory.remote.http_transport import (
    Account,
    NoAnswer,
    NotSent,
    Request,
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
    adapter: "BaseAdapter | None" = None,
    endpoint: str = "",
    region: str = "",
) -> Remote:
    """Open the remote for a configured URL, without a request. Raises ConfigError.

    `endpoint`, `region`: of the store, for a bucket.
    """
    if homes := table.homes_of(url):
        home: Remote = homes.open_home(
            url, account, adapter=adapter, endpoint=endpoint, region=region
        )
        return home
    at = address(url)
    link = read_link(url)
    if link.is_certain and link.problem:
        raise refused(link)
    kind = Nextcloud if "/remote.php/" in at.url else WebDav
    return kind(url, account, adapter=adapter)


def find(url: str, account: Account, *, adapter: "BaseAdapter | None" = None) -> str:
    """Find the URL for the configuration: of the account's files on a Nextcloud, else `url` itself.

    Accepts the links that a person can copy from a Nextcloud, or refuses them with a hint. Sends no
    password. Raises ConfigError, RemoteUnreachable.
    """
    if table.homes_of(url):
        return url.rstrip("/")
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
            "the address does not say which account of the Nextcloud to use",
            hint="name the account with `--user`",
        )
    files = f"{origin}{link.base}/remote.php/dav/files/{quote(account.user, safe='@')}"
    return f"{files}/{quote(link.folder)}" if link.folder else files


def one_spelling(url: str) -> str:
    """The address of a folder in the spelling that all its addresses have. Raises ConfigError."""
    if homes := table.homes_of(url):
        spelling: str = homes.one_spelling(url)
        return spelling
    return address(url).url.rstrip("/")


def is_account_root(url: str) -> bool:
    """Whether it is the address of all files of a Nextcloud account, not of a folder in them."""
    return bool(re.fullmatch(r".*/remote\.php/dav/files/[^/]+/?", url))


def _is_nextcloud(origin: str, base: str, account: Account, adapter: "BaseAdapter | None") -> bool:
    """Ask a server whether it is a Nextcloud. Raises ConfigError when it redirects to another address."""
    # Fault: no person has confirmed yet that this is the right server. It gets no
    # password.
    quiet = Account(proxy=account.proxy, ca_file=account.ca_file)
    transport = Transport(origin, quiet, deadline=_DEADLINE, adapter=adapter)
    try:
        answer = transport.ask(Request("poll", f"{base}/status.php"))
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
        isinstance(status, dict) and status.get("installed") is True and "versionstring" in status
    )


def _refuse_redirect(origin: str, base: str, location: str) -> None:
    """Raise ConfigError for a redirect to another address, e.g. from http:// to https://."""
    url = urlsplit(location)
    # Fault (H125): an account before an `@` makes a hostile address look right in the
    # hint.
    if url.scheme not in ("", "http", "https") or "@" in url.netloc:
        return
    new_origin = f"{url.scheme}://{url.netloc}" if url.netloc else origin
    path = url.path.removesuffix("/status.php")
    is_page = path == url.path
    if new_origin == origin and (is_page or path == base):
        return
    instead = new_origin if is_page else f"{new_origin}{path}"
    raise ConfigError(
        "the server at this address redirects to another one",
        hint=f"if you trust it, give `{instead}`",
    )
