"""Options of `install` that mean nothing to a host."""

from typing import TYPE_CHECKING

from vault_memory.errors import UsageError

if TYPE_CHECKING:
    from vault_memory.addons.hosts.host import Host
    from vault_memory.addons.hosts.install_plan import InstallRequest


class NoProjectFiles(UsageError):
    """The host has no configuration beside the code."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"`{host}` reads no configuration in the folder of a project",
            hint="leave out `--project`",
        )


class NothingToAllow(UsageError):
    """The host has no setting for which tools may be used."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"`{host}` has no setting that allows tools: it asks a person, or it asks nobody",
            hint="leave out `--allow`",
        )


class NothingToAdopt(UsageError):
    """The host keeps no notes that a folder of the vault could hold."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"`{host}` keeps no notes of its own here that could be in the vault",
            hint="leave out `--adopt`, or `--project`",
        )


def check(program: "Host", request: "InstallRequest", *, adopt: bool) -> None:
    """Raise UsageError for an option that means nothing to this host."""
    if request.allow and not program.can_allow:
        raise NothingToAllow(program.name)
    if request.project and not program.takes_project:
        raise NoProjectFiles(program.name)
    is_adoptable = program.can_adopt and not (request.project and program.exchanges)
    if adopt and not is_adoptable:
        raise NothingToAdopt(program.name)
