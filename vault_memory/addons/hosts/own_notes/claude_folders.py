"""Where Claude Code keeps the notes that it writes by itself, its auto memory.

As seen with Claude Code 2.1.332: without a setting, each folder of code has its notes in
`projects/FOLDER/memory`, where each sign of the path but letters and digits is a dash. The setting
`autoMemoryDirectory` names one folder instead. In the settings of the person it is that of every
project. In `.claude/settings.local.json` it is that of this one folder, and not of those below it.
The first request has the text of MEMORY.md there, and no other note.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vault_memory.addons.hosts import install_plan, jsonc_edit
from vault_memory.addons.hosts.own_notes.adoption import OwnMemory

if TYPE_CHECKING:
    from vault_memory.addons.hosts.config_edits import KeyPath

KEY: "KeyPath" = ("autoMemoryDirectory",)


def own_memory(folder: Path, local: Path, environment: Mapping[str, str]) -> Iterator[OwnMemory]:
    """Yield the memory of the person, and then that of each folder of code.

    `folder` is that of the configuration, `local` the path of settings in a folder of code.
    """
    settings = folder / "settings.json"
    home = install_plan.home(environment)
    of_person = []
    of_projects = []
    for written in sorted(_listed(folder / "projects")):
        source = written / "memory"
        if not any(name.suffix == ".md" for name in _listed(source)):
            continue
        matches = list(_folders(Path("/"), written.name))
        if matches in ([home], [Path("/")]):
            # What is said in the home is about no project.
            of_person.append(source)
        elif len(matches) == 1:
            of_projects.append(of_project(folder, matches[0], local, environment))
        else:
            of_projects.append(OwnMemory((source,), name=written.name.strip("-")))
    yield OwnMemory((*_named_in(settings, environment), *of_person), settings, KEY)
    yield from of_projects


def of_project(
    folder: Path, project: Path, local: Path, environment: Mapping[str, str]
) -> OwnMemory:
    """Return the memory of a folder of code."""
    settings = project / local
    source = folder / "projects" / _written(str(project)) / "memory"
    return OwnMemory((*_named_in(settings, environment), source), settings, KEY, project)


def _named_in(settings: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folder that the person has named before."""
    value = jsonc_edit.plain_in(settings).get(*KEY)
    if not isinstance(value, str) or not value:
        return ()
    if value.startswith("~/"):
        return (install_plan.home(environment) / value[2:],)
    return (Path(value),)


def _folders(above: Path, written: str) -> Iterator[Path]:
    """Yield the folders below another one whose path is written so: several, or none."""
    if not written:
        yield above
        return
    for entry in _listed(above):
        name = "-" + _written(entry.name)
        is_on_the_way = written == name or written.startswith(f"{name}-")
        if is_on_the_way and entry.is_dir() and not entry.is_symlink():
            yield from _folders(entry, written.removeprefix(name))


def _written(path: str) -> str:
    # It counts in units of UTF-16.
    return "".join(
        letter
        if letter.isascii() and letter.isalnum()
        else "-" * (len(letter.encode("utf-16-le", "surrogatepass")) // 2)
        for letter in path
    )


def _listed(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing where it cannot be listed."""
    with suppress(OSError):
        return list(folder.iterdir())
    return []
