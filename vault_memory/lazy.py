"""Imports a module on first use, so that a short-lived command loads only what it needs."""

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which would cost each hook 10 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class LazyModule:
    """Stand-in for a module: the first use of an attribute imports the module.

    `importlib` locks each module while it loads, so several threads may make the first use.
    """

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> object:
        return getattr(_imported(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        setattr(_imported(self._name), attribute, value)

    def __delattr__(self, attribute: str) -> None:
        delattr(_imported(self._name), attribute)

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


def lazy_members(
    package: str, modules: "Mapping[str, str] | None" = None
) -> "Callable[[str], Any]":
    """Return the `__getattr__` of a package, whose modules are imported on first use.

    With it, this line of another module imports nothing yet::

        from vault_memory.learning import cycle

    `modules` has the names that the package has from its modules, each with its module. Such a name
    is imported when it is asked for.
    """
    module = sys.modules[package]
    [folder] = module.__path__

    def member(name: str) -> "Any":
        path = f"{folder}/{name}"
        if modules and name in modules:
            attribute = getattr(import_module(f"{package}.{modules[name]}"), name)
        elif os.path.exists(f"{path}.py") or os.path.exists(f"{path}/__init__.py"):
            # The import of the module replaces it.
            attribute = LazyModule(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(module, name, attribute)
        return attribute

    return member


def _imported(name: str) -> object:
    module = sys.modules.get(name)
    # Another thread may be in the middle of the import: `import_module` waits for it.
    if module is None or getattr(module.__spec__, "_initializing", False):
        module = import_module(name)
    return module
