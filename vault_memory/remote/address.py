"""Where the remote's folder is, how its paths are written in requests, and what a server's ``href`` means.

The origin (scheme, host, port) is pinned: a name that leads to another one, or out of the folder, is not followed.
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
    """The URL of a folder, taken apart."""

    origin: str
    """Scheme, host, and the port unless it is the usual one: some servers compare it with ``Host`` letter by letter"""
    base: str
    """The decoded path, without a slash at its end; "" for the whole server"""

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target('', folder=True)}"

    def target(self, path: str, *, folder: bool = False) -> str:
        """What stands in the request line for a path of the remote; a folder's ends with a slash."""
        try:
            if path and inside(quote(inside(path)), encoded=True) != path:
                raise BadPath(path, "it would not come back as the same name")
            full = f"{self.base}/{path}" if path else self.base
            return quote(full, safe="/") + ("/" if folder else "")
        except (BadPath, UnicodeEncodeError) as error:
            raise Refused(path, getattr(error, "reason", "it is no text")) from None

    def inside(self, href: str) -> str:
        """The path of the remote that an ``href`` of a listing names; BadPath when it is none of ours."""
        if re.match(r"(?i)https?://", href):
            there = _origin(href)
            if there != self.origin:
                raise BadPath(href, "it leads to another server")
            href = re.sub(r"(?i)^https?://[^/?#]*", "", href) or "/"
        if "?" in href or "#" in href or not href.startswith("/"):
            raise BadPath(href, "it is no plain path")
        href = href.removesuffix("/")
        if unquote_to_bytes(href) == self.base.encode():
            return ""
        if not self.base:
            return inside(href[1:], encoded=True)
        return inside(href, base=quote(self.base), encoded=True)

    def readable(self, href: str) -> str | None:
        """For an ``href`` that ``inside`` refused: the name when it only is odd, None when it leads elsewhere."""
        decoded = unquote_to_bytes(href.removesuffix("/")).decode(errors="replace")
        again = unquote_to_bytes(decoded).decode(errors="replace")
        start = f"{self.base}/"
        if (
            not decoded.startswith(start)
            or "\0" in decoded
            or any(decoded.count(c) != again.count(c) for c in "/\\.")
        ):
            return None
        name = decoded[len(start) :]
        return None if {"", ".", ".."} & set(re.split(r"[/\\]", name)) else name


def address(url: str) -> Address:
    """Take a configured URL apart, or say what is wrong with it without repeating any password."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigError(
            "`remote.url` holds a user or password",
            hint="put them into `remote.user` and `remote.password_file`",
        )
    if (
        parts.scheme not in _PORTS
        or not parts.hostname
        or parts.query
        or parts.fragment
    ):
        raise ConfigError(
            "`remote.url` is no address of a WebDAV folder",
            hint="it begins with https:// or http://",
        )
    try:
        origin = _origin(url)
        if origin is None:
            raise ValueError
        base = unquote_to_bytes(parts.path.rstrip("/")).decode()
        if base:
            inside(base[1:])
    except (UnicodeDecodeError, ValueError, BadPath):
        raise ConfigError(
            "`remote.url` is no address of a WebDAV folder",
            hint="look at its path and port",
        ) from None
    return Address(origin, base)


def _origin(url: str) -> str | None:
    parts = urlsplit(url)
    if "@" in parts.netloc or not parts.hostname:
        return None
    scheme = parts.scheme.lower()
    try:
        port = parts.port
    except ValueError:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host.lower()}" + (
        "" if port in (None, _PORTS.get(scheme)) else f":{port}"
    )
