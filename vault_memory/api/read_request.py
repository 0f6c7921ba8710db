"""Reads requests of the JSON contract, and turns them into the options of calls."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from vault_memory.context.calls import ContextOptions
from vault_memory.contract.requests import ContextBody, SearchRequest
from vault_memory.errors import UsageError
from vault_memory.search.calls import SearchOptions

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


def search_options(request: SearchRequest) -> SearchOptions:
    """Return the options of a search."""
    return SearchOptions(**_options(request, SearchOptions._fields))


def context_options(request: ContextBody) -> ContextOptions:
    """Return the options of a memory block."""
    return ContextOptions(**_options(request, ContextOptions._fields))


def _options(request: msgspec.Struct, names: Collection[str]) -> dict[str, Any]:
    """Return the fields of a request that are options, too; null means that one is left out."""
    values = {name: value for name, value in asdict(request).items() if name in names}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
