"""Runs learning cycles: chooses scopes, language model and time zone, and which night is due.

There is no timer. A night has the local date on which it begins, such as 02:00 on the 5th of May
in Lisbon. It is due when it has begun and is not finished. So a machine that was off catches up,
a clock that is set back repeats no night, and summer time neither skips nor doubles one.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vault_memory import config as configuration
from vault_memory.config.machine_zone import local_zone
from vault_memory.config.state_file import LockTaken
from vault_memory.conversations import sessions as conversation_sessions
from vault_memory.errors import UsageError
from vault_memory.learning import (
    asking,
    checkpoint,
    night_deps,
    night_reports,
    token_budget,
    unread_turns,
)
from vault_memory.learning import cycle as learning_cycle
from vault_memory.learning import steps as learning_steps
from vault_memory.learning.enrichment import episode_notes
from vault_memory.learning.policy import at_once
from vault_memory.learning.vault_map import VaultMap
from vault_memory.models.llm import channel_phrases, phrase_rules, templates
from vault_memory.rules.facts import fact_page
from vault_memory.rules.paths import scope_notes
from vault_memory.rules.paths.scopes import check_scopes
from vault_memory.search.calls import SearchCalls

if TYPE_CHECKING:
    from vault_memory.contract.answers import ScopeNightJson
    from vault_memory.contract.status_answers import NightJson
    from vault_memory.conversations.calls import ConversationCalls
    from vault_memory.conversations.sessions import Session
    from vault_memory.edits.calls import EditCalls
    from vault_memory.learning.cycle import CycleDeps, CycleRequest
    from vault_memory.learning.night_deps import EpisodeDeps
    from vault_memory.rules.learning.twins import Embed
    from vault_memory.rules.paths.scope_notes import Places


SEEN = "seen"
"""Names the stamp that the notes of a scope without a night had at first"""
MOST_ROUNDS = 50
"""Rounds for one scope: each reads as many turns as one prompt holds"""


@dataclass(frozen=True, slots=True)
class Slept:
    """What the nights of some scopes did."""

    scopes: "tuple[ScopeNightJson, ...]"
    """what the night of each scope did"""
    night: str
    """the local date of the latest night"""
    report: str
    """Markdown, for a person"""
    kept: str
    """the file with the report, without the learned lines; empty for a dry run, or when no night was due"""

    @property
    def failed(self) -> bool:
        """Whether a night has to run again."""
        return any(outcome["state"] == "failed" for outcome in self.scopes)


class LearningVault(NamedTuple):
    """The vault, opened for one run of cycles."""

    edits: "EditCalls"
    conversations: "ConversationCalls"


class LearningRunner:
    """Runs the cycles of one call."""

    def __init__(
        self,
        searcher: SearchCalls,
        open_vault: Callable[[], AbstractContextManager[LearningVault]],
        now: datetime | None,
        *,
        dry_run: bool = False,
        after: Callable[[str, str], None] = lambda scope, step: None,
    ) -> None:
        moment = now or datetime.now(UTC)
        self.now = moment.astimezone() if moment.tzinfo is None else moment
        vault = searcher.vault
        self.vault = vault
        self.config = vault.config
        self.dry_run = dry_run
        self.after = after
        self.map = VaultMap(vault.folder, vault.layout)
        self.checkpoints = checkpoint.CheckpointStore(vault.state.path)
        self._searcher = searcher
        self._open_vault = open_vault
        self._speakers: set[str] = set()
        """Who spoke in a channel"""

    def run(self, named: Sequence[str] | None, *, due: bool, again: date | None = None) -> Slept:
        """Run the nights of the named scopes, else of all; with `due` only those that are due.

        `again`: the turns of this local day are read once more.
        """
        outcomes: list[ScopeNightJson] = []
        scopes = self._chosen_scopes(named, due=due)
        if scopes:
            lock = nullcontext() if self.dry_run else self.checkpoints.held()
            with lock, self._open_vault() as opened:
                deps = self._deps(opened)
                # Another process may have run a night while the lock was awaited. And who
                # spoke in a channel for the first time has a night from now on.
                for names in (scopes, named):
                    finished = {outcome["scope"] for outcome in outcomes}
                    outcomes += [
                        self._run_rounds(deps, scope, again)
                        for scope in self._chosen_scopes(names, due=due)
                        if scope not in finished
                    ]
            self._refresh_index()
        night = max((outcome["night"] for outcome in outcomes), default="")
        stored = str(self._store_report(night)) if outcomes and not self.dry_run else ""
        title = night or self.now.astimezone(self._zone("")).date().isoformat()
        report = night_reports.morning_report(title, outcomes, dry_run=self.dry_run)
        return Slept(tuple(outcomes), night, report, stored)

    def _chosen_scopes(self, named: Sequence[str] | None, *, due: bool) -> list[str]:
        return [scope for scope in self._scopes(named) if not due or self._is_due(scope)]

    def _refresh_index(self) -> None:
        """Index what the cycles wrote; an index of an older program version is left to the daemon."""
        self._searcher.refresh(renew=False)

    def learn_from_ended(self) -> Slept:
        """Learn from one ended conversation after the other, until the model gives no answer."""
        outcomes = self._learn_from(lambda session: True, backed=False)
        if outcomes:
            self._refresh_index()
        return Slept(tuple(outcome for outcome in outcomes if outcome["gathered"]), "", "", "")

    def commit_at_once(
        self, chosen: "Sequence[Session]", *, again: bool = False
    ) -> "list[ScopeNightJson]":
        """Write what the policy allows at once; `again` also from turns that were judged."""
        sessions = conversation_sessions.Sessions(self.vault.state.path)
        outcomes = []
        with suppress(LockTaken), sessions.judging(), self._open_vault() as opened:
            deps = self._deps(opened, backed=False)
            for session in chosen:
                conversation = self._conversation(opened, session)
                judged = sessions.judged_marks(session) | self._read_marks(session.scope)
                if not conversation.marks <= judged:
                    request = self._request(session.scope)
                    outcomes.append(
                        at_once.commit_at_once(
                            deps, request, conversation, judged, explicit_only=request.has_model
                        )
                    )
                sessions.mark_judged(session, conversation.marks)
        return outcomes

    def _read_marks(self, scope: str) -> set[str]:
        """Return the marks of the turns that a finished cycle has read."""
        return self.checkpoints.read(scope, self.checkpoints.last(scope).serial)

    def _conversation(self, opened: LearningVault, session: "Session") -> "at_once.SessionTurns":
        """Read the turns of a session on its days."""
        day = timedelta(days=1)
        turns = opened.conversations.transcripts.in_place(
            session.user, session.channel, session.began.date() - day, session.last.date() + day
        )
        own = (turn for turn in turns if turn.session == session.id)
        return at_once.SessionTurns(session.scope, session.id, tuple(own))

    def learn_from_sessions(self, chosen: "Sequence[Session]") -> "list[ScopeNightJson]":
        """Learn from ended conversations by phrases, each once. Raises NightRuns."""
        chosen_ids = {(session.user, session.id) for session in chosen}
        return self._learn_from(lambda session: (session.user, session.id) in chosen_ids)

    def _learn_from(
        self, is_wanted: "Callable[[Session], bool]", *, backed: bool = True
    ) -> "list[ScopeNightJson]":
        """Learn from ended conversations outside of channels, until one fails."""
        sessions = conversation_sessions.Sessions(self.vault.state.path)
        ended = [
            session
            for session in filter(is_wanted, sessions.unlearned())
            if session.user and not session.channel
        ]
        outcomes: list[ScopeNightJson] = []
        if not ended:
            return outcomes
        with self.checkpoints.held(), self._open_vault() as opened:
            deps = self._deps(opened, backed=backed)
            for session in ended:
                outcomes.append(self._run_conversation(deps, session))
                if outcomes[-1]["state"] == "failed":
                    break
                sessions.mark_learned(session)
        return outcomes

    def unread_of(self, scope: str, turn_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the turns that no finished cycle has read."""
        marks = self._read_marks(scope)
        return tuple(id_ for id_ in turn_ids if unread_turns.mark_of(id_) not in marks)

    def _run_conversation(self, deps: "CycleDeps", session: "Session") -> "ScopeNightJson":
        """Learn from one conversation. A cycle that was killed before is finished first."""
        request = replace(self._request(session.scope), session=session.id)
        request = replace(request, night=self.now.astimezone(request.zone).date())
        total: ScopeNightJson | None = None
        for _ in range(MOST_ROUNDS):
            cycle = learning_cycle.LearningCycle(deps, request)
            result = learning_steps.run_steps(cycle)
            is_this = result.session == session.id
            total = night_reports.joined(total if is_this else None, result.as_json())
            if result.state == "failed" or (is_this and not result.more):
                break
        assert total is not None, "one round at least runs"
        return total

    def status(self) -> "NightJson":
        """When the last night was, when the next one begins, and the scopes whose night is due."""
        last_cycles = self.checkpoints.lasts()
        cycle = self.config.sleep_cycle
        next_night = None
        if cycle.enabled:
            zone = self._zone("")
            next_night = _schedule(cycle.cron).next(self.now, zone).isoformat()
        return {
            "last": max((last.night for last in last_cycles), default="") or None,
            "next": next_night,
            "due": self._chosen_scopes(None, due=True),
            "idle": min((last.idle for last in last_cycles), default=0),
        }

    def next_begins(self) -> datetime:
        """When the next night of any scope begins."""
        own_zones = (f"user:{zone.user}" for zone in self.config.sleep_cycle.zones)
        nights = [
            _schedule(_cycle_of(self.config, scope).cron).next(self.now, self._zone(scope))
            for scope in {"", "channel:", *own_zones}
        ]
        return min(nights, key=datetime.timestamp)

    def _scopes(self, named: Sequence[str] | None) -> list[str]:
        check_scopes(named or ())
        for scope in named or ():
            if not scope.startswith(("user:", "channel:")):
                raise UsageError(
                    f"{scope!r} has no nights", hint="name `user:NAME` or `channel:NAME`"
                )
        if named is not None:
            return list(dict.fromkeys(named))
        lasts = self.checkpoints.lasts()
        self._speakers = {f"user:{name}" for last in lasts for name in last.speakers}
        return sorted(self.map.scopes() | self._speakers)

    def _is_due(self, scope: str) -> bool:
        cycle = _cycle_of(self.config, scope)
        if not cycle.enabled:
            return False
        last = self.checkpoints.last(scope)
        day = date.fromisoformat(last.night) if last.night else None
        if _schedule(cycle.cron).due(self.now, self._zone(scope), done=day) is None:
            return False
        return last.serial + cycle.memory_retention_days > 0 or self._has_news(scope)

    def _has_news(self, scope: str) -> bool:
        """Whether anything was said in a scope without a night, or changed since the first look."""
        # Fault: the first start on a vault of many notes compared all of them for half an hour.
        stamps, stamp = self.checkpoints.keys(scope, SEEN), self.map.stamp_of(scope)
        if not (stamps or self.dry_run):
            self.checkpoints.add_keys(scope, SEEN, [stamp])
        return (
            scope in self._speakers
            or not stamps <= {stamp}
            or any(path.endswith(".jsonl") for path in self.map.entries_of(scope))
        )

    def _run_rounds(
        self, deps: "CycleDeps", scope: str, again: date | None = None
    ) -> "ScopeNightJson":
        """Run rounds until all turns are read, and a cycle that was killed is finished."""
        request = self._request(scope)
        if again is not None:
            request = self._reading_again(deps, request, again)
        total: ScopeNightJson | None = None
        for _ in range(1 if self.dry_run else MOST_ROUNDS):
            cycle = learning_cycle.LearningCycle(deps, request)
            result = learning_steps.run_steps(cycle, lambda step: self.after(scope, step))
            total = night_reports.joined(total, result.as_json())
            has_more = result.session or result.more
            is_done = not has_more and result.night >= request.night.isoformat()
            if result.state == "failed" or is_done:
                break
        assert total is not None, "one round at least runs"
        return total

    def _request(self, scope: str) -> "CycleRequest":
        cycle = _cycle_of(self.config, scope)
        zone = self._zone(scope)
        return learning_cycle.CycleRequest(
            scope,
            _schedule(cycle.cron).latest(self.now, zone),
            self.now,
            zone,
            lookback=timedelta(hours=cycle.lookback_hours),
            retention_days=cycle.memory_retention_days,
            transcript_days=self.config.retention.transcript_days,
            audit_days=self.config.retention.audit_days,
            curate=self.config.sleep_cycle.curate_user_memory and scope.startswith("user:"),
            dry_run=self.dry_run,
            has_model=self.config.brain.kind != "rules",
        )

    def _reading_again(
        self, deps: "CycleDeps", request: "CycleRequest", day: date
    ) -> "CycleRequest":
        """Return the request for a cycle that reads the turns of a day once more."""
        again = unread_turns.DayAgain.of(deps.logs(request.scope, {}), day, request.zone)
        if self.dry_run:
            return replace(request, again=again)
        again.mark_unread(self.checkpoints, request.scope)
        return request

    def _zone(self, scope: str) -> tzinfo:
        return zone_of(self.config, scope)

    def _deps(self, opened: LearningVault, *, backed: bool = True) -> "CycleDeps":
        vault = opened.edits.vault
        editor = opened.edits.editor
        brain = self.config.brain
        if not self.dry_run:
            editor.tend(self.now)
        prompts = [Path(brain.prompts)] if brain.prompts else []
        prompts.append(vault.state.path / "prompts")

        def places(scope: str) -> "Places":
            return scope_notes.places_of(scope, self.map.around(scope), vault.layout)

        def discard(path: str, now: datetime) -> bool:
            note = vault.folder.read(path, max_bytes=1 << 30)
            result = editor.writer.trash(
                path, expected=note.revision, now=now, op_id=f"age-{note.revision[:16]}"
            )
            return result.outcome == "trashed"

        facts = self.config.facts
        budget = token_budget.TokenBudget(vault.state.path, brain.monthly_tokens, self.now)
        return learning_cycle.CycleDeps(
            editor,
            self.checkpoints,
            places,
            lambda scope, known: asking.logs_of(
                opened.conversations, places(scope), known, self.map
            ),
            lambda role: token_budget.load_brain(self.vault, role, budget, backed=backed),
            lambda role: templates.instructions(role, prompts),
            lambda day: fact_page.FactRules(day, facts.single, facts.conflicts, facts.modes),
            discard,
            self.map.look_at,
            channel_rules=channel_phrases.found_in,
            people=lambda: self.map.names_of("user"),
            notes_stamp=self.map.stamp_of,
            rules=phrase_rules.extract,
            policy=night_deps.policy_deps(self.vault, self.now),
            episodes=self._episodes(),
            lifecycle=night_deps.LifecycleDeps.of_vault(self.vault),
            embedder=self._embedder,
            budget=budget,
        )

    def _embedder(self) -> "Embed | None":
        embedder = self.vault.semantic.warm()
        return embedder.embed if embedder else None

    def _episodes(self) -> "EpisodeDeps | None":
        if not self.config.learning.episodes:
            return None
        return episode_notes.deps_of(self.vault.state.path)

    def _store_report(self, night: str) -> Path:
        """Store the report of all scopes of a night, without the learned lines: only the notes hold these."""
        outcomes = [
            last.outcome for last in self.checkpoints.lasts() if last.outcome.get("night") == night
        ]
        return self.checkpoints.report(night, night_reports.morning_report(night, outcomes))


def _schedule(cron: str) -> "Schedule":
    schedule = Schedule.read(cron)
    assert schedule is not None, "the configuration was checked"
    return schedule


def zone_of(config: configuration.Config, scope: str) -> tzinfo:
    """The time zone of a person or a channel."""
    own = (zone.zone for zone in config.sleep_cycle.zones if scope == f"user:{zone.user}")
    name = next(own, "") or _cycle_of(config, scope).zone
    if not name:
        return local_zone()
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _cycle_of(
    config: configuration.Config, scope: str
) -> configuration.SleepCycle | configuration.ChannelSleepCycle:
    if scope.startswith("channel:"):
        return config.channel_sleep_cycle
    return config.sleep_cycle


SCHEDULE = re.compile(r"\s*(\d{1,2})\s+(\d{1,2})\s+\*\s+\*\s+\*\s*")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A local time of day, once a day."""

    hour: int
    minute: int

    @classmethod
    def read(cls, text: str) -> "Schedule | None":
        """Parses `M H * * *`; None for anything else."""
        match = SCHEDULE.fullmatch(text)
        if match is None:
            return None
        minute, hour = int(match[1]), int(match[2])
        if minute > 59 or hour > 23:
            return None
        return cls(hour, minute)

    def begins(self, night: date, zone: tzinfo) -> datetime:
        """Returns when the night of this date begins, in UTC.

        An hour that a clock change skips is the one after it. Of an hour that comes twice, the
        first counts.
        """
        moment = datetime.combine(night, time(self.hour, self.minute), zone)
        # Fault: summer time skips or doubles a local hour. In UTC each night begins once.
        return moment.astimezone(UTC)

    def latest(self, now: datetime, zone: tzinfo) -> date:
        """Returns the last night that has begun."""
        night = now.astimezone(zone).date() + timedelta(days=1)
        while self.begins(night, zone) > now:
            night -= timedelta(days=1)
        return night

    def next(self, now: datetime, zone: tzinfo) -> datetime:
        """Returns when the next night begins, in the zone."""
        night = self.latest(now, zone) + timedelta(days=1)
        return self.begins(night, zone).astimezone(zone)

    def due(self, now: datetime, zone: tzinfo, *, done: date | None) -> date | None:
        """Returns the last night that has begun, if it is later than `done`, the last finished one.

        It includes missed nights: a cycle reads all turns since the last one.
        """
        night = self.latest(now, zone)
        # Fault: a clock that is set back shows a night that is done. It must not run twice.
        return night if done is None or night > done else None
