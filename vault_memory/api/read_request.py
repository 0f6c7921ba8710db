"""Reads requests of the JSON contract, and turns them into the options of calls."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from vault_memory.context.calls import ContextOptions
from vault_memory.contract.requests import ContextBody, SearchQuestion, SearchRequest
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


def question_options(question: SearchQuestion) -> SearchOptions:
    """Return the options of a question."""
    return SearchOptions(
        limit=question.limit,
        topic=question.topic,
        entity=question.entity,
        since=question.since,
        until=question.until,
        kinds=tuple(question.kinds or ()),
        tags=tuple(question.tags or ()),
        where=tuple(question.where or ()),
        paths=tuple(question.paths or ()),
        copies=question.copies,
        mode=question.mode,
        archived=question.archived,
    )


def search_options(request: SearchRequest) -> SearchOptions:
    """Return the options of a search."""
    return question_options(request)._replace(why=request.why, session=request.session)


def context_options(request: ContextBody) -> ContextOptions:
    """Return the options of a memory block."""
    return ContextOptions(
        purpose=request.purpose,
        budget=request.budget,
        session=request.session,
        confirmation=request.confirmation,
        automatic=request.automatic,
        as_of=request.as_of,
    )
