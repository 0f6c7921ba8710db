"""Calls that survive a damaged index, which can always be built again from the notes."""

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
    """Decorate a call of an object with a `vault`: it takes the vault's lock, and survives a damaged index.

    A damaged index is rebuilt, and the call is made again. When the index cannot be written now, the call raises
    DatabaseUnwritable.
    """

    @wraps(call)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.vault.lock:
            try:
                return call(self, *args, **kwargs)
            except DatabaseError as error:
                # Fault (B39): a full disk or a read-only folder. A rebuild would fail
                # as well.
                if reason := reason_unwritable(error):
                    raise DatabaseUnwritable("the index", reason) from None
                if not is_damage(error):
                    raise
                # Fault (C45): a bad sector or a copied file. The notes have all that
                # the index had.
                self.vault.indexing.recover(error)
                return call(self, *args, **kwargs)

    return cast(Call, run)
