"""Repeats calls on a damaged index, which can always be rebuilt from the notes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from vault_memory.database.connection import (
    DatabaseError,
    DatabaseUnwritable,
    is_damage,
    reason_unwritable,
)

Call = TypeVar("Call", bound=Callable[..., Any])


def rebuild_if_damaged(call: Call) -> Call:
    """Decorate a call: it takes the lock, and is repeated after a rebuild if the index is damaged.

    The call raises DatabaseUnwritable when the index cannot be written now.
    """

    @wraps(call)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            try:
                return call(self, *args, **kwargs)
            except DatabaseError as error:
                if reason := reason_unwritable(error):
                    raise DatabaseUnwritable("the index", reason) from None
                if not is_damage(error):
                    raise
                self.indexing.recover(error)
                return call(self, *args, **kwargs)

    return cast(Call, run)
