"""Checks each request before a view gets it: host, origin, session, and the form's own token."""

import hmac
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request

from vault_memory.addons.page.browser_sessions import BrowserSession, BrowserSessions
from vault_memory.errors import VaultMemoryError
from vault_memory.http.auth import host_name

READING = ("GET", "HEAD")
CSRF_FIELD = "csrf"
NEW_LINK = "run `vault-memory web --link`, and open the link that it prints"


class WrongHost(VaultMemoryError):
    """The request is for another host name."""

    http_status = 421


class WrongOrigin(VaultMemoryError):
    """The form was sent by another page."""

    http_status = 403


class SignedOut(VaultMemoryError):
    """The browser has no session here."""

    http_status = 401


class FormTooOld(VaultMemoryError):
    """The form has not the token of this session."""

    http_status = 403


class ReadOnly(VaultMemoryError):
    """This session may only look."""

    http_status = 403


class Guard(NamedTuple):
    """The checks of one page."""

    hosts: Collection[str]
    """the host names of the page"""
    cookie: str
    """the name of its cookie"""
    sessions: BrowserSessions
    may_write: bool = True
    """whether any session may change something"""

    def check_host(self, request: Request) -> None:
        """Raises WrongHost."""
        # Fault: DNS rebinding. A page lets its own name point at this machine.
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self.hosts:
            raise WrongHost("this server has another name", hint="add it to `serve.allowed_hosts`")

    def check_origin(self, request: Request) -> None:
        """Raises WrongOrigin for a request that changes something and comes from elsewhere."""
        if request.method in READING:
            return
        # Fault: a page of another site, or of another port of this host, may send a form
        # here, and the browser adds the cookie.
        origins = request.headers.getlist("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        is_own = len(origins) == 1 and self._is_own_origin(origins[0], request)
        if not is_own or site != "same-origin":
            raise WrongOrigin(
                "another page sent this form", hint="open the page, and press the button there"
            )

    def _is_own_origin(self, origin: str, request: Request) -> bool:
        """Returns whether an origin is the page that was asked."""
        try:
            url = urlsplit(origin.lower())
        except ValueError:
            # Fault: `http://[` is no URL, and any client can send it.
            return False
        is_host = url.netloc == request.headers["host"].lower()
        if url.scheme == request.url.scheme:
            return is_host
        # A server with TLS in front of this one receives https, and asks here by http.
        is_local = (url.hostname or "").endswith("localhost")
        return is_host and url.scheme == "https" and not is_local

    def find_session(self, request: Request) -> BrowserSession:
        """Returns the session of the request's cookie. Raises SignedOut."""
        token = request.cookies.get(self.cookie, "")
        session = self.sessions.find(token) if token else None
        if session is None:
            raise self.signed_out()
        return session

    def signed_out(self) -> SignedOut:
        """Returns the error for a browser without a session."""
        return SignedOut("this browser is not signed in", hint=NEW_LINK)

    def check_form(self, session: BrowserSession, csrf: str) -> None:
        """Raises FormTooOld, ReadOnly."""
        # Fault: a header may have lone surrogates, which `compare_digest` refuses as text.
        sent = csrf.encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(sent, session.csrf.encode()):
            raise FormTooOld("this form is not of your session", hint="open the view again")
        # Fault: a session of an earlier start may have more rights than this page gives.
        if not (self.may_write and session.rights.may_write):
            raise ReadOnly("this page is read-only", hint="start it without `--read-only`")
