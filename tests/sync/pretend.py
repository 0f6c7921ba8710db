"""A vault, a server, two people and an engine, all pretended: texts are sets of lines, and a merge is their union.

The engine does what a plan says, one action at a time, each only when what it rests on still holds.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from vault_memory.sync.actions import (
    Action,
    DeleteRemote,
    Download,
    ForgetBase,
    KeepBoth,
    MakeLocalDir,
    MakeRemoteDir,
    Merge,
    MoveBase,
    MoveLocal,
    MoveRemote,
    RecordInSync,
    Refetch,
    Refresh,
    RemoveLocalDir,
    RemoveRemoteDir,
    TrashLocal,
    Upload,
)
from vault_memory.sync.plan.planner import SyncPlan, batches, plan
from vault_memory.sync.settings import Settings
from vault_memory.sync.trees import BaseDir, BaseFile, Dir, File, Node, Tree

Text = frozenset[str]
Planner = Callable[..., SyncPlan]


def hash_of(text: Text) -> str:
    return " ".join(sorted(text))


@dataclass(slots=True)
class Thing:
    """A file with its text, or a directory with None."""

    text: Text | None
    id: str
    tag: str = ""


class Refused(Exception):
    """What an action rests on does not hold."""


@dataclass(slots=True)
class Side:
    """One tree, with the few calls that a disk and a server have in common."""

    name: str
    numbers: "count[int]"
    things: dict[str, Thing] = field(default_factory=dict)
    trash: list[Text] = field(default_factory=list)
    tag_moves: bool = False
    """a rename gives another tag"""

    def copy(self) -> "Side":
        things = {
            path: Thing(thing.text, thing.id, thing.tag) for path, thing in self.things.items()
        }
        return Side(self.name, self.numbers, things, list(self.trash), self.tag_moves)

    def fresh(self) -> str:
        return f"{self.name}{next(self.numbers)}"

    def below(self, top: str) -> list[str]:
        return [path for path in self.things if path.startswith(top + "/")]

    def has_room(self, path: str) -> bool:
        parent = path.rpartition("/")[0]
        return path not in self.things and (not parent or self.is_dir(parent))

    def is_dir(self, path: str) -> bool:
        return path in self.things and self.things[path].text is None

    def is_file(self, path: str) -> bool:
        return path in self.things and self.things[path].text is not None

    def put(self, path: str, text: Text) -> None:
        if self.is_file(path):
            self.things[path].text, self.things[path].tag = text, self.fresh()
        elif self.has_room(path):
            self.things[path] = Thing(text, self.fresh(), self.fresh())
        else:
            raise Refused(path)

    def mkdir(self, path: str) -> None:
        if not self.has_room(path):
            raise Refused(path)
        self.things[path] = Thing(None, self.fresh())

    def move(self, src: str, dst: str) -> None:
        if src not in self.things or not self.has_room(dst) or dst.startswith(src + "/"):
            raise Refused(src)
        for path in [src, *self.below(src)]:
            self.things[dst + path[len(src) :]] = self.things.pop(path)
        if self.tag_moves:
            self.things[dst].tag = self.fresh()

    def rmdir(self, path: str) -> None:
        if not self.is_dir(path) or self.below(path):
            raise Refused(path)
        del self.things[path]

    def delete(self, path: str) -> None:
        text = self.things.pop(path).text
        assert text is not None
        self.trash.append(text)

    def live(self) -> set[str]:
        return {line for thing in self.things.values() for line in thing.text or ()}

    def shape(self) -> dict[str, Text | None]:
        return {path: thing.text for path, thing in self.things.items()}


# --- What a person does; False when it cannot be done ------------------------------------------------------------


def write(side: Side, path: str, line: str) -> bool:
    if side.is_dir(path) or not (side.is_file(path) or side.has_room(path)):
        return False
    side.put(
        path,
        (side.things[path].text or frozenset() if path in side.things else frozenset()) | {line},
    )
    return True


def remove(side: Side, path: str, _: str) -> bool:
    if path not in side.things:
        return False
    for each in [path, *side.below(path)]:
        del side.things[each]
    return True


def make(side: Side, path: str, _: str) -> bool:
    if not side.has_room(path):
        return False
    side.mkdir(path)
    return True


def rename(side: Side, src: str, dst: str) -> bool:
    if src not in side.things or src == dst:
        return False
    if side.is_file(src) and side.is_file(dst):
        del side.things[dst]
    try:
        side.move(src, dst)
    except Refused:
        return False
    return True


Op = tuple[str, str, str]
OPS: dict[str, Callable[[Side, str, str], bool]] = {
    "write": write,
    "remove": remove,
    "make": make,
    "rename": rename,
}


def ops_over(names: Iterable[str]) -> list[Op]:
    names = list(names)
    single = [(verb, name, "") for verb in ("write", "remove", "make") for name in names]
    return single + [("rename", src, dst) for src in names for dst in names if src != dst]


def do(side: Side, op: Op, line: str) -> bool:
    verb, path, other = op
    return OPS[verb](side, path, other or line)


# --- The engine --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class World:
    """Both sides, what is recorded of them, and what the engine has seen."""

    local: Side
    remote: Side
    base: dict[str, BaseFile | BaseDir] = field(default_factory=dict)
    ids: bool = True
    """the server tells file ids"""
    hashes: bool = False
    """the server tells checksums"""
    fetched: dict[str, Text] = field(default_factory=dict)
    """by tag"""
    absent: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    careless: bool = False
    """an engine that does not look again before it acts"""

    @classmethod
    def of(cls, files: Mapping[str, str | None], **traits: bool) -> "World":
        """A vault and a server in step; None stands for a directory."""
        numbers = count(1)
        world = cls(Side("L", numbers), Side("R", numbers))
        for path, line in files.items():
            for side in (world.local, world.remote):
                side.mkdir(path) if line is None else side.put(path, frozenset({line}))
            world.record(path)
        world.remote.tag_moves = traits.pop("tag_moves", False)
        for name, value in traits.items():
            setattr(world, name, value)
        return world

    def copy(self) -> "World":
        return replace(
            self,
            local=self.local.copy(),
            remote=self.remote.copy(),
            base=dict(self.base),
            fetched=dict(self.fetched),
        )

    def trees(self) -> tuple[Tree, Tree]:
        """What both sides look like now. What was absent the last time too is confirmed."""
        known = self.base.keys() | self.local.things.keys() | self.remote.things.keys()
        gone_here = frozenset(known - self.local.things.keys())
        gone_there = frozenset(known - self.remote.things.keys())
        here = Tree(
            {path: self._local(thing) for path, thing in self.local.things.items()},
            gone_here & self.absent[0],
        )
        there = {path: self._remote(path, thing) for path, thing in self.remote.things.items()}
        remote = Tree(there, gone_there & self.absent[1])
        self.absent = (gone_here, gone_there)
        return here, remote

    def _local(self, thing: Thing) -> Node:
        return Dir(thing.id) if thing.text is None else File(hash_of(thing.text), id=thing.id)

    def _remote(self, path: str, thing: Thing) -> Node:
        id = thing.id if self.ids else ""
        if thing.text is None:
            return Dir(id)
        text = thing.text if self.hashes else self.fetched.get(thing.tag)
        return File(hash_of(text) if text is not None else None, thing.tag, id)

    def alike(self) -> frozenset[tuple[str, str]]:
        """Pairs whose lines are half the same, as an engine finds them among its snapshots."""
        ids = {was.local_id: path for path, was in self.base.items() if isinstance(was, BaseFile)}
        found = set()
        for path, thing in self.local.things.items():
            src = ids.get(thing.id)
            was = self.base.get(src) if src and src != path and thing.text is not None else None
            if src and thing.text is not None and isinstance(was, BaseFile):
                old = set(was.hash.split())
                if 2 * len(old & thing.text) >= len(old):
                    found.add((src, path))
        return frozenset(found)

    def record(self, path: str) -> None:
        here, there = self.local.things[path], self.remote.things[path]
        id = there.id if self.ids else ""
        if here.text is None or there.text is None:
            self.base[path] = BaseDir(here.id, id)
        else:
            self.base[path] = BaseFile(hash_of(there.text), there.tag, here.id, id)

    def carry(self, src: str, dst: str) -> None:
        moved = {
            dst + path[len(src) :]: path
            for path in self.base
            if path == src or path.startswith(src + "/")
        }
        for new, old in moved.items():
            self.base[new] = self.base.pop(old)

    def _file(self, side: Side, path: str, expected: str | None) -> Text:
        thing = side.things.get(path)
        if thing is None or thing.text is None:
            raise Refused(path)
        seen = hash_of(thing.text) if side is self.local else thing.tag
        if not self.careless and seen != expected:
            raise Refused(path)
        return thing.text

    def act(self, action: Action) -> None:
        """Do one action, and record it."""
        local, remote, path = self.local, self.remote, action.path
        match action:
            case Upload():
                text = self._file(local, path, action.hash)
                if action.tag is not None:
                    self._file(remote, path, action.tag)
                elif not remote.has_room(path):
                    raise Refused(path)
                remote.put(path, text)
                self.record(path)
            case Download():
                text = self._file(remote, path, action.tag)
                if action.hash is not None:
                    self._file(local, path, action.hash)
                elif not local.has_room(path):
                    raise Refused(path)
                local.put(path, text)
                self.record(path)
            case Merge():
                text, fetched = (
                    self._file(local, path, action.hash),
                    self._file(remote, path, action.tag),
                )
                merged = text if hash_of(fetched) == action.base else text | fetched
                local.put(path, merged)
                if action.upload:
                    remote.put(path, merged)
                self.record(path)
            case Refetch():
                self.fetched[action.tag] = self._file(remote, path, action.tag)
            case DeleteRemote():
                self._file(remote, path, action.tag)
                remote.delete(path)
                self.base.pop(path, None)
            case TrashLocal():
                self._file(local, path, action.hash)
                local.delete(path)
                self.base.pop(path, None)
            case MakeRemoteDir() | MakeLocalDir():
                (remote if isinstance(action, MakeRemoteDir) else local).mkdir(path)
                here, there = (
                    side.things[path].id if side.is_dir(path) else "" for side in (local, remote)
                )
                self.base[path] = BaseDir(here, there if self.ids else "")
            case RemoveRemoteDir() | RemoveLocalDir():
                (remote if isinstance(action, RemoveRemoteDir) else local).rmdir(path)
                self.base.pop(path, None)
            case MoveRemote():
                if action.tag:
                    self._file(remote, path, action.tag)
                remote.move(path, action.to)
                self._carried(action)
            case MoveLocal():
                if action.hash is not None:
                    self._file(local, path, action.hash)
                local.move(path, action.to)
                self.carry(action.record, action.to) if action.record else None
            case KeepBoth():
                side, expected = (
                    (local, action.hash) if action.side == "local" else (remote, action.tag)
                )
                self._file(side, path, expected)
                side.move(path, action.copy)
                if isinstance(self.base.get(path), BaseFile):
                    del self.base[path]
            case RecordInSync() | Refresh():
                self.base[path] = action.base
            case ForgetBase():
                self.base.pop(path, None)
            case MoveBase():
                self.carry(path, action.to)

    def _carried(self, action: MoveRemote) -> None:
        if not action.record:
            return
        self.carry(action.record, action.to)
        was = self.base.get(action.to)
        if action.unedited and isinstance(was, BaseFile):
            self.base[action.to] = replace(was, tag=self.remote.things[action.to].tag)


@dataclass(slots=True)
class Settled:
    """How it went until nothing was left to do."""

    passes: int
    refused: int
    last: SyncPlan


def settle(
    world: World,
    settings: Settings,
    *,
    planner: Planner = plan,
    most: int = 12,
    die: random.Random | None = None,
    failing: float = 0.0,
    between: Callable[[int], None] = lambda number: None,
) -> Settled:
    """Plan and do until a plan is empty. With a die, batches are shuffled and actions fail now and then.

    `between` is called before each action with the number of the pass: people do not wait for engines.
    """
    refused = active = 0
    for number in range(most):
        here, there = world.trees()
        made = planner(dict(world.base), here, there, replace(settings, alike=world.alike()))
        if not made.actions and not made.waiting:
            return Settled(active, refused, made)
        active += bool(made.actions)
        for batch in batches(made.actions):
            steps = list(batch)
            if die:
                die.shuffle(steps)
            for action in steps:
                between(number)
                if die and number < most - 12 and die.random() < failing:
                    continue
                try:
                    world.act(action)
                except Refused:
                    refused += 1
    raise AssertionError(f"not quiet after {most} passes: {made.actions} {dict(made.waiting)}")


def check(before: World, world: World) -> None:
    """What has to be true once it is quiet, given how both sides stood when the people stopped."""
    assert world.local.shape() == world.remote.shape(), "both sides are the same"
    assert world.base.keys() == world.local.things.keys(), "and recorded"
    old = {
        line
        for was in before.base.values()
        if isinstance(was, BaseFile)
        for line in was.hash.split()
    }
    here, there, live = before.local.live(), before.remote.live(), world.local.live()
    assert not (missing := (here - old) | (there - old)) - live, (
        f"written on one side, not on both: {missing - live}"
    )
    assert not (old & here & there) - live, "nobody removed it"
    for path, was in before.base.items():
        if isinstance(was, BaseFile):
            _deleted_as_meant(path, was, before, world)


def _deleted_as_meant(path: str, was: BaseFile, before: World, world: World) -> None:
    """A note deleted on one side and not touched on the other is gone."""
    lines = set(was.hash.split())
    for side, other in ((before.local, before.remote), (before.remote, before.local)):
        untouched = (
            side.is_file(path) and hash_of(side.things[path].text or frozenset()) == was.hash
        )
        if untouched and not lines & other.live() and _tag_same(side, path, was):
            assert not lines & world.local.live(), f"{path} was deleted, and came back"


def _tag_same(side: Side, path: str, was: BaseFile) -> bool:
    return side.things[path].id in (was.local_id, was.remote_id)
