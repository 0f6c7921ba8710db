"""What a host brings to each visit: scratch, account, models."""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from vault_memory.config.sections import Config, RemoteSettings
from vault_memory.remote.contract import Capabilities, Remote
from vault_memory.sync.connection import open_configured

OpenRemote = Callable[[RemoteSettings, str], Remote]


def _same_config(config: Config) -> Config:
    return config


@dataclass(frozen=True, slots=True)
class VisitSettings:
    """What a host brings to each visit."""

    scratch: Path
    """folder with a scratch for each vault"""
    remote: RemoteSettings
    """account and options for all homes; the lease names the address"""
    environment: Mapping[str, str] = field(default_factory=dict)
    configure: Callable[[Config], Config] = _same_config
    """changes the configuration of a vault to what the operator wants, e.g. its models"""
    open_remote: OpenRemote = open_configured
    capabilities: MutableMapping[str, Capabilities] = field(default_factory=dict)
    """what each server can do, by the address of its homes: asked once by a process"""


def server_of(home: str) -> str:
    """Return the part of an address that homes on one server, or in one bucket, share."""
    scheme, _, place = home.partition("://")
    names = place.split("/")
    # The first name of a bucket's address is the bucket; a web server may have several services.
    count = 1 if scheme == "s3" else 2
    return f"{scheme}://{'/'.join(names[:count])}"
