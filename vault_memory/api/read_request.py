"""Reads requests of the JSON contract, and turns them into the options of calls."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from vault_memory.contract.requests import ContextBody, SearchRequest
from vault_memory.errors import UsageError

Request = TypeVar("Request", bound=msgspec.Struct)


def read(arguments: Mapping[str, object], kind: type[Request], call: str) -> Request:
    """Check the arguments of a call. Raises UsageError."""
    try:
        return msgspec.convert(arguments, kind)
    # A client may send any JSON, such as a number that exceeds every type of the structs.
    except (msgspec.ValidationError, OverflowError, TypeError) as error:
        raise UsageError(
            f"`{call}` cannot take these arguments: {error}",
            hint=f"`{call}` takes {', '.join(kind.__struct_fields__)}",
        ) from None


def options(request: SearchRequest | ContextBody) -> Any:
    """Return the options of a search or a memory block; null means that one is left out."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in asdict(request).items()
        if value is not None and name not in ("query", "prompt", "scopes")
    }
