"""`/metrics` in the text format of Prometheus, and the counters of requests.

The numbers cover the memory of all persons, so the tokens of bots do not open the page: it has a
token of its own. Requests over the owner's Unix socket need no token.
"""

import hmac
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vault_memory.api import daemon_client
from vault_memory.api.metrics import Family, Sample
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.http import metrics_text
from vault_memory.http.responses import HEADERS, refusal
from vault_memory.http.tokens import token_in

if TYPE_CHECKING:
    from vault_memory.contract.status_answers import VitalsJson

PATH = "/metrics"
FORMAT = "text/plain; version=0.0.4; charset=utf-8"
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}


class Requests:
    """Number and duration of requests, by route, method and status."""

    # The counters of `prometheus_client` would add a series `_created` to each of these, unless
    # that is turned off for the complete process.

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)

    def took(self, path: str, method: str, status: int, seconds: float) -> None:
        """Counts a request with its duration."""
        self._counts[path, method, str(status)] += 1
        self._seconds[path] += seconds

    def families(self) -> list[Family]:
        """Returns the counters."""
        by_status = []
        by_path: dict[str, int] = defaultdict(int)
        for (path, method, status), count in sorted(self._counts.items()):
            labels = {"path": path, "method": method, "status": status}
            by_status.append(Sample(count, labels))
            by_path[path] += count
        durations = []
        for path, seconds in sorted(self._seconds.items()):
            durations.append(Sample(seconds, {"path": path}, "_sum"))
            durations.append(Sample(by_path[path], {"path": path}, "_count"))
        return [
            Family(
                "http_requests_total", "counter", "Requests that were answered", tuple(by_status)
            ),
            Family(
                "http_request_seconds", "summary", "How long their answers took", tuple(durations)
            ),
        ]


class Counting:
    """Counts the requests. It comes before the gate, and counts refused requests, too."""

    def __init__(self, app: ASGIApp, requests: Requests, paths: Collection[str]) -> None:
        self._app, self._requests = app, requests
        self._paths = {path for path in paths if "{" not in path}
        templates = {path.partition("{")[0]: path for path in paths if "{" in path}
        # Longer beginnings come first: a shorter one may begin a longer one.
        self._templates = sorted(templates.items(), reverse=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            # Fault: a caller may invent methods without end, and each would be a series
            # of its own.
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = self._route_of(scope["path"])
            seconds = time.perf_counter() - began
            self._requests.took(route, method, status, seconds)

    def _route_of(self, path: str) -> str:
        """Returns the route template: it names no note, and there are only a few of them."""
        if path in self._paths:
            return path
        for start, template in self._templates:
            if path.startswith(start):
                return template
        return "other"


def metrics_route(
    families: Callable[[], list[Family]],
    requests: Requests,
    setting: str,
    token_file: str,
    folder: Path,
    *,
    for_local: bool = False,
) -> list[Route]:
    """Returns the route with its own check of tokens; no route when no request could pass.

    `setting` names the file of the token, which must be outside of `folder`, that of the vaults.
    `for_local`: a client may come without a token. Raises TokenUnsafe.
    """
    token = ""
    if token_file:
        token = token_in(Path(token_file).expanduser(), setting, folder)
    if not token and not for_local:
        return []

    async def answer(request: Request) -> Response:
        credentials = request.headers.getlist("authorization")
        if not _may_read(credentials, token, for_local=for_local):
            hint = f"send the token of `{setting}` as `Authorization: Bearer TOKEN`"
            return refusal(
                401, "unauthorised", "the numbers have a token of their own", hint, CHALLENGE
            )
        numbers = await anyio.to_thread.run_sync(families)
        text = metrics_text.as_text([*numbers, *requests.families()])
        return Response(text, 200, HEADERS, FORMAT)

    return [Route(PATH, answer, methods=["GET"])]


CHALLENGE = {"www-authenticate": 'Bearer realm="vault-memory metrics"'}


def _may_read(credentials: list[str], token: str, *, for_local: bool) -> bool:
    """Whether these `Authorization` headers have the token; `for_local`: or there are none."""
    if not credentials:
        return for_local
    scheme, _, bearer = credentials[0].partition(" ")
    sent_token = bearer.strip().encode("utf-8", "surrogatepass")
    # Fault: the duration of a plain comparison would tell how many characters are
    # right.
    is_equal = hmac.compare_digest(sent_token, token.encode())
    # Fault: without a token in the configuration, an empty one must not open the page.
    is_right = is_equal and bool(token)
    return is_right and len(credentials) == 1 and scheme.lower() == "bearer"


def vitals(memory: VaultMemory) -> "VitalsJson | None":
    """Asks the daemon for its state; None when none runs."""
    answer = daemon_client.ask(memory.vault.state.socket, "vitals", {})
    return cast("VitalsJson | None", answer)
