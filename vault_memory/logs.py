"""Loggers that import `logging` at the first record: a short command rarely writes one."""

TYPE_CHECKING = False  # as in `typing`, which takes time to load
if TYPE_CHECKING:
    from collections.abc import Callable


class Logger:
    """The logger of this name. It has the methods of `logging.Logger`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> "Callable[..., None]":
        import logging  # only here: a hook would wait 4 ms for it

        bound: Callable[..., None] = getattr(logging.getLogger(self._name), method)
        return bound
