"""Imports a module on first use, so that a short-lived command loads only what it needs."""

import sys
from importlib import import_module


class LazyModule:
    """Stand-in for a module: the first access of an attribute imports the module.

    `importlib` locks each module while it loads, so several threads may make the first access.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        module = sys.modules.get(self._name)
        # Another thread may be in the middle of the import: `import_module` waits for it.
        if module is None or getattr(module.__spec__, "_initializing", False):
            module = import_module(self._name)
        return getattr(module, attribute)

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


def lazy_module(name: str) -> LazyModule:
    """Return a stand-in for the module with the absolute `name`, which is not imported yet.

    The type checker and the import contract see the module by its twin::

        if TYPE_CHECKING:
            from vault_memory.learning import cycle
        else:
            cycle = lazy_module("vault_memory.learning.cycle")
    """
    return LazyModule(name)
