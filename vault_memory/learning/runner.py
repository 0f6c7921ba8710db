"""The night's work as VaultMemory does it: which scopes, which brain, which time zone."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vault_memory import config as configuration
from vault_memory.config.machine_zone import local_zone
from vault_memory.errors import UsageError
from vault_memory.lazy import lazy_module
from vault_memory.learning.vault_map import WORKSPACE, VaultMap

if TYPE_CHECKING:
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.conversations.sessions import Session
    from vault_memory.learning import checkpoint, unread_turns
    from vault_memory.learning import cycle as learning_cycle
    from vault_memory.learning import report as learning_report
    from vault_memory.learning import schedule as learning_schedule
    from vault_memory.learning.cycle import CycleDeps, CycleRequest
    from vault_memory.learning.schedule import Schedule
    from vault_memory.learning.unread_turns import Log
    from vault_memory.models.llm import factory, templates
    from vault_memory.rules.facts import fact_page
    from vault_memory.rules.paths import scope_notes
    from vault_memory.rules.paths.scope_notes import Places
else:
    checkpoint = lazy_module("vault_memory.learning.checkpoint")
    learning_cycle = lazy_module("vault_memory.learning.cycle")
    learning_report = lazy_module("vault_memory.learning.report")
    learning_schedule = lazy_module("vault_memory.learning.schedule")
    unread_turns = lazy_module("vault_memory.learning.unread_turns")
    factory = lazy_module("vault_memory.models.llm.factory")
    templates = lazy_module("vault_memory.models.llm.templates")
    fact_page = lazy_module("vault_memory.rules.facts.fact_page")
    scope_notes = lazy_module("vault_memory.rules.paths.scope_notes")

MOST_ROUNDS = 50
"""Of one scope in one go: each takes in as much as has room"""


@dataclass(frozen=True, slots=True)
class Slept:
    """What the nights of some scopes did."""

    scopes: tuple[Mapping[str, Any], ...]
    """of each: scope, night, gathered, memories, facts, curated, pruned, rung, state, and more"""
    night: str
    """the local date of the latest of them"""
    report: str
    """Markdown, for a person"""
    kept: str
    """the file in which the report is kept, without what was learned; empty with a dry run, or when nothing was due"""

    @property
    def failed(self) -> bool:
        """Whether a night is to be tried again."""
        return any(one["state"] == "failed" for one in self.scopes)


class LearningRunner:
    """One call."""

    def __init__(
        self,
        memory: "ConversationCalls",
        now: datetime | None,
        dry_run: bool,
        after: Callable[[str, str], None] = lambda scope, step: None,
    ) -> None:
        self.memory, self.dry_run, self.after = memory, dry_run, after
        at = now or datetime.now(UTC)
        self.now = at.astimezone() if at.tzinfo is None else at
        self.shelf = checkpoint.CheckpointStore(memory.state.path)
        self.map = VaultMap(memory.folder, memory.layout)
        self.config = memory.config

    def all(self, named: Sequence[str] | None, *, due: bool) -> Slept:
        outcomes: list[dict[str, Any]] = []
        wanted = self._wanted_of(named, due=due)
        if wanted:
            with (
                nullcontext() if self.dry_run else self.shelf.held(),
                closing(self.memory.fork()) as memory,
            ):
                desk = self._desk(memory)
                # looked at again: another process may have done it just now
                outcomes += [
                    self._rounds(desk, scope)
                    for scope in wanted
                    if not due or self._is_due(scope)
                ]
            self.memory.refresh(renew=False)
        night = max((str(one["night"]) for one in outcomes), default="")
        kept = "" if self.dry_run or not outcomes else str(self._kept(night))
        title = night or self.now.astimezone(self._zone("")).date().isoformat()
        return Slept(
            tuple(outcomes),
            night,
            learning_report.morning_report(title, outcomes, dry_run=self.dry_run),
            kept,
        )

    def _wanted_of(self, named: Sequence[str] | None, *, due: bool) -> list[str]:
        return [
            scope for scope in self._scopes(named) if not due or self._is_due(scope)
        ]

    def conversations(self) -> Slept:
        """One after the other, until the model does not answer."""
        sessions = self.memory.sessions
        ended = [one for one in sessions.unlearned() if one.user and not one.channel]
        outcomes: list[dict[str, Any]] = []
        if ended:
            with self.shelf.held(), closing(self.memory.fork()) as memory:
                desk = self._desk(memory, backed=False)
                for session in ended:
                    found = self._conversation(desk, session)
                    outcomes += [found] if found["gathered"] else []
                    if found["state"] == "failed":
                        break
                    sessions.learned(session)
            self.memory.refresh(renew=False)
        return Slept(tuple(outcomes), "", "", "")

    def _conversation(self, desk: "CycleDeps", session: "Session") -> dict[str, Any]:
        """With what was killed before, which is finished first."""
        wanted = replace(self._wanted(session.scope), session=session.id)
        wanted = replace(wanted, night=self.now.astimezone(wanted.zone).date())
        whole: dict[str, Any] = {}
        for _ in range(MOST_ROUNDS):
            found = learning_cycle.LearningCycle(desk, wanted).run()
            is_this = found.session == session.id
            whole = learning_report.joined(whole if is_this else {}, asdict(found))
            if found.state == "failed" or (is_this and not found.more):
                break
        return whole

    def status(self) -> dict[str, object]:
        lasts = {one.scope: one for one in self.shelf.lasts()}
        cycle = self.config.sleep_cycle
        schedule = _schedule(cycle.cron)
        return {
            "last": max((one.night for one in lasts.values()), default="") or None,
            "next": schedule.next(self.now, self._zone("")).isoformat()
            if cycle.enabled
            else None,
            "due": self._wanted_of(None, due=True),
            "idle": min((one.idle for one in lasts.values()), default=0),
        }

    def next_begins(self) -> datetime:
        """When the next night of any scope begins."""
        zones = {
            "",
            *(f"user:{one.user}" for one in self.config.sleep_cycle.zones),
            "channel:",
        }
        nights = [
            _schedule(self._cycle(one).cron).next(self.now, self._zone(one))
            for one in zones
        ]
        return min(nights, key=datetime.timestamp)

    def _scopes(self, named: Sequence[str] | None) -> list[str]:
        if named is not None and isinstance(named, str):
            raise UsageError(f"`scopes` is a list of scopes, not {named!r}")
        for scope in named or ():
            if (
                not scope.startswith(("user:", "channel:"))
                or not scope.partition(":")[2]
            ):
                raise UsageError(
                    f"{scope!r} has no nights",
                    hint="name `user:NAME` or `channel:NAME`",
                )
        if named is not None:
            return list(dict.fromkeys(named))
        return scope_notes.scopes_in(self.map.paths(), self.memory.layout)

    def _is_due(self, scope: str) -> bool:
        cycle = self._cycle(scope)
        if not cycle.enabled:
            return False
        done = self.shelf.last(scope).night
        day = datetime.fromisoformat(done).date() if done else None
        return (
            _schedule(cycle.cron).due(self.now, self._zone(scope), done=day) is not None
        )

    def _rounds(self, desk: "CycleDeps", scope: str) -> dict[str, Any]:
        """As many as it takes to read all that was said, and to finish a night that was killed."""
        wanted = self._wanted(scope)
        whole: dict[str, Any] = {}
        for _ in range(1 if self.dry_run else MOST_ROUNDS):
            found = learning_cycle.LearningCycle(
                desk, wanted, lambda step: self.after(scope, step)
            ).run()
            whole = learning_report.joined(whole, asdict(found))
            is_done = (
                not (found.session or found.more)
                and found.night >= wanted.night.isoformat()
            )
            if found.state == "failed" or is_done:
                break
        return whole

    def _wanted(self, scope: str) -> "CycleRequest":
        cycle, zone = self._cycle(scope), self._zone(scope)
        return learning_cycle.CycleRequest(
            scope,
            _schedule(cycle.cron).latest(self.now, zone),
            self.now,
            zone,
            lookback=timedelta(hours=cycle.lookback_hours),
            retention_days=cycle.memory_retention_days,
            transcript_days=self.config.retention.transcript_days,
            curate=self.config.sleep_cycle.curate_user_memory
            and scope.startswith("user:"),
            dry_run=self.dry_run,
        )

    def _cycle(
        self, scope: str
    ) -> configuration.SleepCycle | configuration.ChannelSleepCycle:
        return _cycle_of(self.config, scope)

    def _zone(self, scope: str) -> tzinfo:
        return zone_of(self.config, scope)

    def _desk(self, memory: "ConversationCalls", *, backed: bool = True) -> "CycleDeps":
        curator, brain = memory.curator, self.config.brain
        if not self.dry_run:
            curator.tend(self.now)
        prompts = [Path(brain.prompts)] if brain.prompts else []
        prompts.append(memory.state.path / "prompts")

        def places(scope: str) -> "Places":
            return scope_notes.places_of(scope, self.map.around(scope), memory.layout)

        def discard(path: str, now: datetime) -> bool:
            note = memory.folder.read(path, max_bytes=1 << 30)
            done = curator.writer.trash(
                path, expected=note.revision, now=now, op_id=f"age-{note.revision[:16]}"
            )
            return done.outcome == "trashed"

        facts = self.config.facts
        return learning_cycle.CycleDeps(
            curator,
            self.shelf,
            places,
            lambda scope, known: _logs(memory, places(scope), known, self.map),
            lambda role: factory.load_brain(
                brain, role, backed=backed, vault=memory.root
            ),
            lambda role: templates.instructions(role, prompts),
            lambda day: fact_page.FactRules(
                day, frozenset(facts.single_valued), facts.conflicts
            ),
            discard,
            self.map.look_at,
        )

    def _kept(self, night: str) -> Path:
        """The report of all scopes whose night it was, without what was learned: that is in the notes alone."""
        told = [
            one.outcome
            for one in self.shelf.lasts()
            if one.outcome.get("night") == night
        ]
        return self.shelf.report(night, learning_report.morning_report(night, told))


def _logs(
    memory: "ConversationCalls",
    places: "Places",
    known: Mapping[str, str],
    vault_map: "VaultMap",
) -> "dict[str, Log]":
    """The transcripts of a scope; of a workspace those of its main group, too."""
    scopes = [places.scope, *([WORKSPACE] if places.notes == "memory/" else [])]
    found = {}
    for scope in scopes:
        found.update(memory.transcripts.logs(scope, known, vault_map.entries_of(scope)))
    return {
        path: unread_turns.Log(signature, turns)
        for path, (signature, turns) in found.items()
    }


def _schedule(cron: str) -> "Schedule":
    schedule = learning_schedule.Schedule.read(cron)
    assert schedule is not None, "the configuration was checked"
    return schedule


def zone_of(config: configuration.Config, scope: str) -> tzinfo:
    """The time zone of a person or a channel."""
    own = (one.zone for one in config.sleep_cycle.zones if scope == f"user:{one.user}")
    name = next(own, "") or _cycle_of(config, scope).zone
    if not name:
        return local_zone()
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _cycle_of(
    config: configuration.Config, scope: str
) -> configuration.SleepCycle | configuration.ChannelSleepCycle:
    return (
        config.channel_sleep_cycle
        if scope.startswith("channel:")
        else config.sleep_cycle
    )
