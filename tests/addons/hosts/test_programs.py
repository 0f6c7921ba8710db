"""A host is one row of the table in `hosts/programs`, and a command line can name nothing else."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from vault_memory.addons.hosts import programs
from vault_memory.addons.hosts.host import Host
from vault_memory.addons.hosts.programs import editors


@pytest.mark.parametrize("name", programs.names())
def test_each_host_has_the_name_of_its_row(name: str) -> None:
    assert programs.host(name).name == name


def test_the_table_has_each_host_of_the_package_in_order() -> None:
    for module in iter_modules(programs.__path__):
        import_module(f"{programs.__name__}.{module.name}")
    kinds = [*Host.__subclasses__(), *editors.EditorHost.__subclasses__()]
    named = {
        kind.name
        for kind in kinds
        if kind.__module__.startswith(programs.__name__ + ".") and kind is not editors.EditorHost
    }

    assert list(programs.names()) == sorted(named)


@pytest.mark.parametrize(
    "name", ["", "emacs", "claude_code", "__init__", "..host", "os", "codex.Codex"]
)
def test_an_unknown_host_name_is_never_imported(name: str) -> None:
    with pytest.raises(programs.NoSuchHost):
        programs.host(name)
