"""Loggers that import `logging` at the first record: a short command rarely writes one."""

from vault_memory.lazy import LazyModule

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
else:
    # A hook would wait 4 ms for it.
    logging = LazyModule("logging")


class Logger:
    """The logger of this name. It has the methods of `logging.Logger`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> "Callable[..., None]":
        bound: Callable[..., None] = getattr(logging.getLogger(self._name), method)
        return bound
