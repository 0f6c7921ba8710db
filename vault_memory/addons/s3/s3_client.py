"""Sends the requests of S3: boto3 signs them and reads the answers, `http_transport` carries them.

So S3 has the deadlines, size limits and strictness of WebDAV: no redirect is followed, no answer is
read beyond its limit, and nothing is retried here. Remotes with the same keys share one client, since boto3
needs 10 ms of processor time to make one, and 100 ms for the first. Remotes of the same server share its
connections.
"""

import io
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.utils import parse_timestamp

from vault_memory.remote.contract import Traffic
from vault_memory.remote.http_transport import Account, HttpAnswer, Request, Transport

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

DEFAULT_REGION = "us-east-1"
_ACTIONS = {"GET": "download", "PUT": "upload", "DELETE": "clean", "HEAD": "check"}
"""The names of methods in the transport"""
_SET_BY_TRANSPORT = frozenset({"accept-encoding", "content-length", "expect", "user-agent"})
_MOST_CLIENTS = 16
_current = threading.local()
"""its attribute `exchange` is the exchange that the thread waits for"""


@dataclass(frozen=True, slots=True)
class S3Place:
    """Where a bucket is."""

    endpoint: str = ""
    """the URL of the store; "" for the default of boto3, which is Amazon"""
    region: str = ""


@dataclass(slots=True)
class _Exchange:
    """One request of a remote, and its answer."""

    client: "S3Client"
    cap: int
    answer: HttpAnswer | None = None


class S3Client:
    """The requests of one remote. Any thread may call it."""

    def __init__(
        self,
        place: S3Place,
        account: Account,
        *,
        deadline: float,
        adapter: "BaseAdapter | None" = None,
    ) -> None:
        self.traffic = Traffic()
        self._place = place
        self._account = account
        self._deadline = deadline
        self._adapter = adapter
        self._transports: dict[str, Transport] = {}
        self._lock = threading.Lock()

    def call(
        self, operation: str, cap: int, **parameters: Any
    ) -> tuple[dict[str, Any], HttpAnswer | None]:
        """Call an operation of boto3. Returns its result, and the answer below it.

        `cap`: the most bytes that the body may have. Raises NotSent, NoAnswer, ClientError and
        BotoCoreError.
        """
        exchange = _Exchange(self, cap)
        _current.exchange = exchange
        try:
            client = _boto_client(
                self._place.endpoint, self._place.region, self._account.password, _found_keys.number
            )
            result: dict[str, Any] = getattr(client, operation)(**parameters)
            return result, exchange.answer
        except Exception as error:
            error.answer = exchange.answer  # type: ignore[attr-defined]
            raise
        finally:
            _current.exchange = None

    def drop_keys(self) -> bool:
        """Let boto3 look for keys again. Returns False for keys that it did not find itself."""
        if self._account.password:
            return False
        _found_keys.drop()
        return True

    def send(self, request: AWSPreparedRequest, cap: int) -> HttpAnswer:
        """Send a signed request, and count it. Raises NotSent, NoAnswer."""
        url = urlsplit(request.url)
        origin = f"{url.scheme}://{url.netloc}"
        body = _bytes_of(request.body)
        with self._lock:
            self.traffic.requests += 1
            self.traffic.sent += len(body)
            transport = self._transports.get(origin)
            if transport is None:
                transport = self._transports[origin] = self._open(origin)
        answer = transport.ask(
            Request(
                _ACTIONS[request.method],
                request.url[len(origin) :],
                body or None,
                _headers_of(request),
                cap,
            )
        )
        with self._lock:
            self.traffic.received += answer.size
        return answer

    def close(self) -> None:
        """Close the connections that no other remote uses."""
        with self._lock:
            transports = list(self._transports.values())
            self._transports.clear()
        for transport in transports:
            _shared.give_back(transport)

    def _open(self, origin: str) -> Transport:
        bare = Account(proxy=self._account.proxy, ca_file=self._account.ca_file)
        if self._adapter is not None:
            return Transport(origin, bare, deadline=self._deadline, adapter=self._adapter)
        return _shared.take(origin, bare, self._deadline)


class _SharedTransports:
    """Transports by server. The last remote that gives one back closes it."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, Account, float], Transport] = {}
        self._users: dict[Transport, int] = {}
        self._lock = threading.Lock()

    def take(self, origin: str, account: Account, deadline: float) -> Transport:
        key = (origin, account, deadline)
        with self._lock:
            transport = self._transports.get(key)
            if transport is None:
                transport = Transport(origin, account, deadline=deadline)
                self._transports[key] = transport
                self._users[transport] = 0
            self._users[transport] += 1
            return transport

    def give_back(self, transport: Transport) -> None:
        with self._lock:
            users = self._users.pop(transport, 1) - 1
            if users > 0:
                self._users[transport] = users
                return
            for key, shared in list(self._transports.items()):
                if shared is transport:
                    del self._transports[key]
        transport.close()


class _FoundKeys:
    """The keys that boto3 finds in its usual places. A client reads them once."""

    def __init__(self) -> None:
        self.number = 0
        """how often they were dropped"""
        self._lock = threading.Lock()

    def drop(self) -> None:
        with self._lock:
            self.number += 1


_shared = _SharedTransports()
_found_keys = _FoundKeys()
_making = threading.Lock()


def _boto_client(endpoint: str, region: str, keys: str, found: int) -> Any:
    # Fault: boto3 is not safe when two threads make a client at once.
    with _making:
        if keys:
            return _make_client(endpoint, region, keys)
        return _make_client(endpoint, region, keys, found)


@lru_cache(maxsize=_MOST_CLIENTS)
def _make_client(endpoint: str, region: str, keys: str, found: int = 0) -> Any:
    """A client of boto3. `keys`: key id, secret and perhaps a token in lines; "" for boto3's own search.

    `found`: which of its searches.
    """
    import boto3
    from botocore.config import Config
    from botocore.session import get_session

    key_id, secret, token = (*keys.split("\n"), "", "", "")[:3]
    core = get_session()
    core.register_component("data_loader", _loader(core.get_config_variable("data_path")))
    parsers = core.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_time_of)
    session = boto3.session.Session(
        botocore_session=core,
        aws_access_key_id=key_id or None,
        aws_secret_access_key=secret or None,
        aws_session_token=token or None,
        region_name=region or None,
    )
    # Fault: many stores do not know the checksums that boto3 adds unasked. The SHA-256
    # of the body is part of the signature instead, and each store checks it.
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        s3={"addressing_style": "path" if endpoint else "auto", "payload_signing_enabled": True},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = session.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=session.region_name or DEFAULT_REGION,
        config=config,
    )
    client.meta.events.register("before-parameter-build.s3", _forbid_redirect)
    client.meta.events.register_first("before-send.s3", _carry)
    return client


@lru_cache(maxsize=1)
def _loader(data_path: str | None) -> Any:
    """The descriptions of S3, which all clients share: to read them is most of making a client."""
    from botocore.loaders import create_loader

    return create_loader(data_path)


def _time_of(value: Any) -> datetime:
    """A time in an answer. boto3's own reader needs more time than all the rest of a listing."""
    moment: datetime
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = parse_timestamp(value)
    # Fault: a store leaves the zone out, and the time would be that of this machine.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _forbid_redirect(context: dict[str, Any], **_: object) -> None:
    """Keep boto3 from asking another region, whose name comes from the answer."""
    # Fault (E98): an answer leads to another server, which would get the note.
    context.setdefault("s3_redirect", {})["redirected"] = True


def _carry(request: AWSPreparedRequest, **_: object) -> AWSResponse:
    """Send a request of boto3 through the transport of the remote that made it."""
    exchange: _Exchange = _current.exchange
    answer = exchange.client.send(request, exchange.cap)
    exchange.answer = answer
    return AWSResponse(request.url, answer.status, dict(answer.headers), _Body(answer.body))


class _Body(io.BytesIO):
    """A body that was read completely, for boto3 to read again."""

    def stream(self, size: int = 65_536, **_: object) -> Iterator[bytes]:
        while chunk := self.read(size):
            yield chunk


def _bytes_of(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, bytes | bytearray):
        return bytes(body)
    raw: bytes = body.read()
    return raw


def _headers_of(request: AWSPreparedRequest) -> tuple[str, ...]:
    headers: Mapping[str, Any] = request.headers
    lines = []
    for name, value in headers.items():
        if name.lower() in _SET_BY_TRANSPORT:
            continue
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        lines.append(f"{name}: {text}")
    return tuple(lines)
