"""A host is one module of `hosts/programs`, and a command line can name nothing else."""

import pytest

from vault_memory.addons.hosts import programs


@pytest.mark.parametrize("name", programs.names())
def test_each_host_is_named_like_its_module(name: str) -> None:
    host = programs.host(name)

    assert host.name == name
    assert type(host).__module__.endswith(f".programs.{name.replace('-', '_')}")


@pytest.mark.parametrize(
    "name", ["", "emacs", "claude_code", "__init__", "..host", "os", "codex.HOST"]
)
def test_an_unknown_host_name_is_never_imported(name: str) -> None:
    with pytest.raises(programs.NoSuchHost):
        programs.host(name)
