"""What `host --doctor` checks: the host, its limits, and each vault with trouble."""

import resource
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vault_memory.edits.reports import Check

if TYPE_CHECKING:
    from vault_memory.contract.host_answers import VaultHostJson

FEW_FILES = 4096
"""Open files below which only a few hundred vaults can be open"""


def checks(status: "VaultHostJson") -> Iterator[Check]:
    """Returns the checks of a host with this status."""
    yield _host(status)
    yield _files()
    polled = [row["root"] for row in status["vaults"] if row["polled"]]
    if polled:
        yield Check(
            "watches",
            "warn",
            f"no event reports changes of {len(polled)} vaults, such as `{polled[0]}`",
            "raise `fs.inotify.max_user_watches`, or move the vaults to a local disk",
        )
    closed = [row["root"] for row in status["vaults"] if not row["tokens"] and not row["trouble"]]
    if closed:
        yield Check(
            "tokens",
            "warn",
            f"{len(closed)} vaults have no token, so no bot can ask for them, such as `{closed[0]}`",
            f"run `vault-memory --vault {closed[0]} serve --new-token FILE --user NAME`,"
            " and add the lines that it prints to the configuration of that vault",
        )
    troubled = 0
    for row in status["vaults"]:
        if row["trouble"]:
            troubled += 1
            yield Check(
                "vault",
                "fail",
                f"`{row['root']}`: {row['trouble']}",
                f"run `vault-memory doctor --vault {row['root']}`",
            )
    if not status["vaults"]:
        folder = status["folder"]
        yield Check(
            "vaults",
            "warn",
            f"there is no vault below `{folder}`",
            "make one with `vault-memory init FOLDER`, or name another folder with `--vaults`",
        )
        return
    count = len(status["vaults"]) - troubled
    yield Check("vaults", "ok", f"{count} vaults without trouble", "")


def _host(status: "VaultHostJson") -> Check:
    if status["running"]:
        return Check("host", "ok", f"process {status['pid']} serves the vaults", "")
    return Check(
        "host", "warn", "no host runs", f"run `vault-memory host --vaults {status['folder']}`"
    )


def _files() -> Check:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_low = hard != resource.RLIM_INFINITY and hard < FEW_FILES
    if is_low:
        return Check(
            "open files",
            "warn",
            f"the system allows {hard} open files, which limits the open vaults",
            "raise `LimitNOFILE=` of the service, or `ulimit -Hn`",
        )
    return Check("open files", "ok", f"the system allows {hard} open files", "")
