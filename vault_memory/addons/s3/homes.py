"""Opens homes at addresses such as `s3://bucket/folder`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from vault_memory.addons.s3 import s3_client, s3_remote
from vault_memory.addons.s3.s3_address import s3_address
from vault_memory.errors import ConfigError
from vault_memory.remote.http_transport import Account

if TYPE_CHECKING:
    from requests.adapters import BaseAdapter

    from vault_memory.addons.s3.s3_remote import S3


def open_home(
    url: str,
    account: Account,
    *,
    adapter: "BaseAdapter | None" = None,
    endpoint: str = "",
    region: str = "",
) -> "S3":
    """Open the remote for a bucket, without a request. Raises ConfigError."""
    if find_spec("boto3") is None:
        raise ConfigError(
            "a home in S3 needs packages that are not installed: boto3",
            hint="install them with `pip install 'vault-memory[s3]'`",
        )
    place = s3_client.S3Place(endpoint.rstrip("/"), region)
    return s3_remote.S3(url, account, place, adapter=adapter)


def one_spelling(url: str) -> str:
    """Return the address in the spelling that all addresses of this folder have. Raises ConfigError."""
    return s3_address(url).url
