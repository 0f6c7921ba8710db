"""The ways in which a write can go, each to be cut short at every call."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulated.files import SimulatedFiles
from tests.vault.write.lines import note
from tests.vault.write.world import World

OLD = note("a", "b")
NEW = note("a", "b", "bot")
NOTE = "memory/USER.md"


@dataclass(frozen=True)
class Template:
    """What is there, what is done, what must be there in the end."""

    name: str
    act: Callable[[World], None]
    live: frozenset[bytes | None]
    """What may stand under the note's name at any moment, None for nothing."""
    lines: frozenset[str]
    """What must stand there in the end, each line once, if the person saved."""
    alone: frozenset[str] | None = None
    """The same, if nobody did."""
    set_up: Callable[[World], None] = lambda world: None
    records: int = 1
    human_at: str = ""
    """The call before which somebody saves."""
    human: Callable[[SimulatedFiles], None] = lambda files: None
    path: str = NOTE


def _start(world: World) -> None:
    world.files.folders["memory"] = type(world.files.folders[""])()
    world.files._change("", {"memory": world.files._inode(b"", 0o40755).number})
    world.files._sync_folder("")
    world.files.person_saves(NOTE, OLD)
    world.later(60)


def _no_exchange(world: World) -> None:
    world.files.exchanges = False


def _nothing_new(world: World) -> None:
    world.files.exchanges = world.files.replaces_not = False


def _saves(*lines: str) -> Callable[[SimulatedFiles], None]:
    return lambda files: void(files.person_saves(NOTE, note(*lines)))


def void(_: object) -> None:
    """For an act whose result nobody needs."""


def write(world: World) -> None:
    world.write(NOTE, NEW, OLD)


def _create(world: World) -> None:
    world.write("notes/deep/new.md", NEW, None)


def _stale(world: World) -> None:
    world.files.person_saves(NOTE, note("a", "b", "ann"))
    world.later(60)


def _twice(world: World) -> None:
    world.write(NOTE, NEW, OLD)
    world.write(NOTE, note("a", "b", "bot", "again"), NEW, "op-2")
    world.writer.acknowledge(())


def _held(world: World) -> None:
    world.files.held = world.files.number_of(NOTE)
    world.files.others[world.files.held] = 1


def _late(world: World) -> None:
    """Somebody has the note open during the write, and saves into the file that was displaced."""
    write(world)
    files = world.files
    if files.others.pop(files.held, None):
        files.person_writes(files.held, note("a", "b", "late"))
    world.later(1)
    world.writer.tend(world.now)


def _pending(world: World) -> None:
    world.write(NOTE, NEW, OLD, quiet=300.0)
    world.later(600)
    world.writer.tend(world.now)


def _conflict(world: World) -> None:
    world.files.person_saves(NOTE, note("a", "CONFLICT"))
    world.later(60)


def _trash(world: World) -> None:
    from vault_memory.vault.snapshots import revision_of

    world.writer.trash(NOTE, expected=revision_of(OLD), now=world.now, op_id="op", record=b"trash")


_BOTH = frozenset({"a", "b", "bot"})
_WITH_ANN = frozenset({"a", "b", "ann", "bot"})
_ANN = note("a", "b", "ann")
_MERGED = note("a", "b", "ann", "bot")

TEMPLATES = (
    Template("write", write, frozenset({OLD, NEW}), _BOTH),
    Template("create", _create, frozenset({None, NEW}), _BOTH, path="notes/deep/new.md"),
    Template("stale", write, frozenset({_ANN, _MERGED}), _WITH_ANN, set_up=_stale),
    Template(
        "twice",
        _twice,
        frozenset({OLD, NEW, note("a", "b", "bot", "again")}),
        _BOTH | {"again"},
        records=2,
    ),
    Template("pending", _pending, frozenset({OLD, NEW}), _BOTH),
    Template(
        "saved in the window",
        write,
        frozenset({OLD, NEW, _ANN, _MERGED}),
        _WITH_ANN,
        human_at="exchange",
        human=_saves("a", "b", "ann"),
        alone=_BOTH,
    ),
    Template(
        "saved after the swap",
        write,
        frozenset({OLD, NEW, note("a", "b", "bot", "ann")}),
        _WITH_ANN,
        human_at="alone",
        human=_saves("a", "b", "bot", "ann"),
        alone=_BOTH,
    ),
    Template(
        "deleted after the swap",
        write,
        frozenset({OLD, NEW, OLD}),
        frozenset({"a", "b"}),
        human_at="alone",
        human=_saves("a", "b"),
        alone=_BOTH,
    ),
    Template(
        "written late",
        _late,
        frozenset(
            {
                OLD,
                NEW,
                note("a", "b", "late", "bot"),
                note("a", "b", "bot", "late"),
                note("a", "b", "late"),
            }
        ),
        _BOTH | {"late"},
        set_up=_held,
        alone=_BOTH,
    ),
    Template("no exchange", write, frozenset({OLD, NEW, None}), _BOTH, set_up=_no_exchange),
    Template("only links", write, frozenset({OLD, NEW, None}), _BOTH, set_up=_nothing_new),
    Template(
        "no exchange, a new note in the gap",
        write,
        frozenset({OLD, NEW, None, _ANN, _MERGED}),
        _WITH_ANN,
        set_up=_no_exchange,
        human_at="rename_new",
        human=_saves("a", "b", "ann"),
        alone=_BOTH,
    ),
    Template(
        "no exchange, saved before it was taken",
        write,
        frozenset({OLD, NEW, None, _ANN, _MERGED}),
        _WITH_ANN,
        set_up=_no_exchange,
        human_at="rename .",
        human=_saves("a", "b", "ann"),
        alone=_BOTH,
    ),
    Template(
        "conflict",
        write,
        frozenset({note("a", "CONFLICT")}),
        frozenset({"a", "CONFLICT"}),
        set_up=_conflict,
    ),
    Template("trash", _trash, frozenset({OLD, None}), frozenset()),
)


def begin(template: Template) -> World:
    """A world in which the template can be acted."""
    world = World()
    _start(world)
    template.set_up(world)
    world.files.calls = 0
    world.files.person_wrote = False
    world.files.trace.clear()
    return world


def plan_human(template: Template, world: World) -> None:
    """Let somebody save just before the call that the template names."""
    if template.human_at:
        world.files.meanwhile[template.human_at] = template.human
