"""From what a person types to the remote that fits: Nextcloud by its address, or because the server says so."""

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from vault_memory.remote.address import address
from vault_memory.remote.base import Traits
from vault_memory.remote.errors import NotUnderstood, RemoteUnreachable
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.transport import Account, NoAnswer, NotSent, Transport
from vault_memory.remote.webdav import WebDav

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

_DEADLINE = 30.0


def open_remote(
    url: str, account: Account, *, traits: Traits | None = None, adapter: "BaseAdapter | None" = None
) -> WebDav:
    """The remote for a URL as it stands in the configuration; nothing is asked yet."""
    kind = Nextcloud if "/remote.php/" in address(url).url else WebDav
    return kind(url, account, traits=traits, adapter=adapter)


def find(url: str, account: Account, *, adapter: "BaseAdapter | None" = None) -> str:
    """The URL for the configuration: of the person's files where a Nextcloud lives at ``url``, else ``url`` itself.

    Sends no password.
    """
    at = address(url)
    if "/remote.php/dav/" in at.url:
        return url.rstrip("/")
    start = at.target("", folder=True).partition("/remote.php/")[0].partition("/index.php/")[0].rstrip("/")
    quiet = Account(proxy=account.proxy, ca_file=account.ca_file)
    transport = Transport(at.origin, quiet, deadline=_DEADLINE, adapter=adapter)
    try:
        answer = transport.ask("poll", f"{start}/status.php")
        told = json.loads(answer.body) if answer.status == 200 else None
    except NotSent as error:
        raise RemoteUnreachable(str(error)) from None
    except NoAnswer as error:
        raise NotUnderstood(str(error)) from None
    except ValueError:
        told = None
    finally:
        transport.close()
    if not (isinstance(told, dict) and told.get("installed") is True and "versionstring" in told):
        return url.rstrip("/")
    return f"{at.origin}{start}/remote.php/dav/files/{quote(account.user, safe='@')}"
