"""A proxy before a store of S3, which can lose headers, and on which a script of faults falls.

It keeps the header `Host`, which is signed.
"""

from collections.abc import Collection, Mapping

from tests.remote.servers.exchange import Seen
from tests.remote.servers.faults import Faulty, Script
from tests.remote.servers.front import Front
from tests.remote.servers.proxy import Upstream


class _SignedUpstream(Upstream):
    """Passes requests on as they are, without the headers that it loses."""

    def __init__(self, url: str, lost: Collection[str]) -> None:
        super().__init__(url)
        self._lost = frozenset(name.lower() for name in lost)

    def _as_its_own(self, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        ours = super()._as_its_own(headers, body)
        for name, value in headers.items():
            if name.lower() == "host":
                ours["Host"] = value
        return {name: value for name, value in ours.items() if name.lower() not in self._lost}


class S3Proxy:
    """A running proxy for an endpoint."""

    def __init__(
        self, endpoint: str, script: Script | None = None, *, lost: Collection[str] = ()
    ) -> None:
        self.script = script or Script()
        self._upstream = _SignedUpstream(endpoint, lost)
        self._front = Front(Faulty(self._upstream, self.script))
        self.url = self._front.url

    @property
    def log(self) -> list[Seen]:
        """What reached the store."""
        return self._upstream.log

    @property
    def writes(self) -> list[str]:
        """The paths of all requests that change something."""
        return [
            f"{seen.method} {seen.path}" for seen in self.log if seen.method not in ("GET", "HEAD")
        ]

    def __enter__(self) -> "S3Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self._front.stop()
