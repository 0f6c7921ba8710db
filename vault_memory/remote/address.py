"""The address of the remote's folder: encodes its paths for requests, and decodes the hrefs of the server.

It rejects an href to another origin (scheme, host, port), or to a path outside of the folder.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes, urlsplit

from vault_memory.errors import BadPath, ConfigError
from vault_memory.remote.remote_errors import Refused
from vault_memory.rules.paths.filenames import inside

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a folder's URL."""

    origin: str
    """scheme, host, and the port unless it is the default: some servers compare it with ``Host`` literally"""
    base: str
    """the decoded path, without a slash at its end; "" for the whole server"""

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target('', folder=True)}"

    def target(self, path: str, *, folder: bool = False) -> str:
        """The encoded path for the request line; with a slash at its end for a folder. Raises Refused."""
        try:
            # Fault (H119): a name that the encoding changes would read or write another
            # file.
            if path and inside(quote(inside(path)), encoded=True) != path:
                raise BadPath(path, "it would not come back as the same name")
            full = f"{self.base}/{path}" if path else self.base
            slash = "/" if folder else ""
            return quote(full, safe="/") + slash
        except (BadPath, UnicodeEncodeError) as error:
            raise Refused(path, getattr(error, "reason", "it is not text")) from None

    def inside(self, href: str) -> str:
        """The path of the remote that an ``href`` of a listing names. Raises BadPath for any other address."""
        href = self._without_origin(href)
        # Fault (H119): what follows `?` is no part of the path. The server would serve
        # another file than the entry says.
        if "?" in href or "#" in href or not href.startswith("/"):
            raise BadPath(href, "it is not a plain path")
        href = href.removesuffix("/")
        if unquote_to_bytes(href) == self.base.encode():
            return ""
        if not self.base:
            return inside(href[1:], encoded=True)
        return inside(href, base=quote(self.base), encoded=True)

    def _without_origin(self, href: str) -> str:
        """The path of an ``href``. Raises BadPath for another server."""
        if not re.match(r"(?i)https?://", href):
            return href
        # Fault (H125): a hostile server names another one, which would get the
        # password.
        if _origin(href) != self.origin:
            raise BadPath(href, "it leads to another server")
        return re.sub(r"(?i)^https?://[^/?#]*", "", href) or "/"

    def readable(self, href: str) -> str | None:
        """The name in an ``href`` that `inside` rejected; None when it leads out of the folder."""
        decoded = unquote_to_bytes(href.removesuffix("/")).decode(errors="replace")
        again = unquote_to_bytes(decoded).decode(errors="replace")
        start = f"{self.base}/"
        if not decoded.startswith(start) or "\0" in decoded:
            return None
        # Fault (H119): a name that is encoded twice hides a path to another folder.
        if any(decoded.count(mark) != again.count(mark) for mark in "/\\."):
            return None
        name = decoded[len(start) :]
        # Fault (H119): a backslash is a separator on Windows, and a letter elsewhere.
        # No part may lead upwards on any device.
        if {"", ".", ".."} & set(re.split(r"[/\\]", name)):
            return None
        return name


def address(url: str) -> Address:
    """Parse a configured URL. Raises ConfigError, without repeating a password."""
    split = urlsplit(url)
    # Fault (H126): an address with a password would come into logs, errors and the
    # status.
    if "@" in split.netloc:
        raise ConfigError(
            "`remote.url` contains a user or password",
            hint="put them into `remote.user` and `remote.password_file`",
        )
    is_http = split.scheme in _PORTS and split.hostname
    if not is_http or split.query or split.fragment:
        raise ConfigError(
            "`remote.url` is not the address of a WebDAV folder",
            hint="it begins with https:// or http://",
        )
    try:
        origin = _origin(url)
        if origin is None:
            raise ValueError
        base = unquote_to_bytes(split.path.rstrip("/")).decode()
        if base:
            inside(base[1:])
    except (UnicodeDecodeError, ValueError, BadPath):
        raise ConfigError(
            "`remote.url` is not the address of a WebDAV folder", hint="check its path and port"
        ) from None
    return Address(origin, base)


def _origin(url: str) -> str | None:
    """Scheme, host and port in one spelling; None when they are missing or contain an account."""
    split = urlsplit(url)
    # Fault (H125): before the `@`, an address can show the name of the right server.
    if "@" in split.netloc or not split.hostname:
        return None
    scheme = split.scheme.lower()
    try:
        port = split.port
    except ValueError:
        return None
    host = f"[{split.hostname}]" if ":" in split.hostname else split.hostname
    suffix = "" if port in (None, _PORTS.get(scheme)) else f":{port}"
    return f"{scheme}://{host.lower()}{suffix}"
