"""When the server is asked, and when it is left alone."""

import pytest

from vault_memory.remote.remote_errors import RemoteBusy, RemoteUnreachable, Unauthorised
from vault_memory.service.backoff import IDLE_POLL, LONGEST, PathBackoff, SyncBackoff
from vault_memory.sync.observe.local_scan import BEING_SAVED
from vault_memory.sync.pass_report import PassReport
from vault_memory.sync.sync_errors import AnotherClient

QUIET = PassReport()
POLL = 15.0


def pace(at: float = 0.0) -> SyncBackoff:
    return SyncBackoff(POLL, at, draw=lambda: 0.5)


def after_a_pass(at: float = 0.0, report: PassReport = QUIET) -> SyncBackoff:
    started = pace(at)
    started.begin()
    started.succeeded(report, at, listed=True)
    return started


def test_the_first_pass_runs_at_once_and_lists_the_server():
    assert pace(7.0).next() == (7.0, True)


def test_the_server_is_polled_at_the_configured_interval():
    assert after_a_pass(100.0).next() == (115.0, True)


def test_after_an_hour_without_changes_the_server_is_polled_once_a_minute():
    quiet = after_a_pass(0.0, PassReport(uploaded=1))

    quiet.succeeded(QUIET, 3599.0, listed=True)
    assert quiet.next() == (3599.0 + POLL, True)
    quiet.succeeded(QUIET, 3600.0, listed=True)
    assert quiet.next() == (3600.0 + IDLE_POLL, True)
    quiet.succeeded(PassReport(downloaded=1), 3660.0, listed=True)
    assert quiet.next() == (3660.0 + POLL, True)


def test_a_local_edit_is_uploaded_within_two_seconds_without_a_listing():
    edited = after_a_pass()

    for tenth in range(100):
        edited.note_local_edit(5.0 + tenth / 10)
    when, ask = edited.next()

    assert (when, ask) == (7.0, False), "also when somebody goes on saving"


def test_nothing_is_uploaded_before_the_server_was_listed_once():
    fresh = pace(0.0)

    fresh.note_local_edit(0.0)

    assert fresh.next() == (0.0, True)


def test_an_event_heard_before_a_pass_triggers_no_second_pass():
    edited = after_a_pass()
    edited.note_local_edit(5.0)

    edited.begin()
    edited.succeeded(QUIET, 6.0, listed=False)

    assert edited.next() == (POLL, True)


def test_a_waiting_path_is_checked_soon_and_then_less_and_less_often():
    waiting = PassReport(waiting=(("a.md", "it was seen once"),))
    looked = pace()
    gaps = []

    for _ in range(7):
        at, ask = looked.next()
        assert ask
        looked.succeeded(waiting, at, listed=True)
        gaps.append(looked.next()[0] - at)

    assert gaps == pytest.approx([0.6, 1.2, 2.4, 4.8, 9.6, POLL, POLL])


def test_a_note_that_is_being_saved_causes_no_requests():
    looked = after_a_pass(0.0)

    looked.note_local_edit(1.0)
    looked.begin()
    looked.succeeded(PassReport(waiting=(("a.md", BEING_SAVED),)), 1.6, listed=False)

    assert looked.next() == (pytest.approx(2.2), False)


@pytest.mark.scenario("E97", "E99")
def test_the_server_can_set_the_waiting_time():
    busy = after_a_pass()

    busy.failed(RemoteBusy("maintenance", retry_after=120.0, everywhere=True), 10.0)
    busy.note_local_edit(11.0)
    busy.list_by(12.0)

    when, _ = busy.next()
    assert 130.0 <= when <= 142.0, "an edit or a wish is no reason to ask earlier"


def test_an_unreachable_server_is_retried_after_growing_pauses():
    away = after_a_pass()
    now, gaps = 100.0, []

    for _ in range(9):
        away.failed(RemoteUnreachable("nothing listens there"), now)
        gaps.append(away.next()[0] - now)
        now = away.next()[0]

    assert gaps[:4] == [5.0, 10.0, 12.0, 12.0]
    away.succeeded(QUIET, now, listed=True)
    away.failed(RemoteUnreachable("nothing listens there"), now)
    assert away.next()[0] - now == POLL, "it begins anew once all was well"


def test_a_problem_only_a_person_can_fix_is_not_retried():
    for error, seconds in (
        (Unauthorised(), 3600.0),
        (AnotherClient("/vault", ".stfolder", "Syncthing"), 60.0),
    ):
        stopped = pace(0.0)
        stopped.failed(error, 0.0)
        assert stopped.next()[0] == seconds


def test_a_failing_path_is_paused_for_seconds():
    resting, now, gaps = PathBackoff(draw=lambda: 0.5), 0.0, []

    for _ in range(9):
        resting.note({"a.md": "it is locked"}, now)
        assert resting.paused(now) == {"a.md": "it is locked"}
        gaps.append(resting.next() - now)
        now = resting.next()

    assert gaps[:3] == [5.0, 12.0, 12.0]


def test_a_failing_path_is_retried_every_15_seconds_at_first_and_hourly_in_the_end():
    resting, now, gaps = PathBackoff(draw=lambda: 1.0), 0.0, {}

    while now < 24 * 3600.0:
        resting.note({"a.md": "it is locked"}, now)
        gaps[now] = resting.next() - now
        now = resting.next()

    assert max(gap for at, gap in gaps.items() if at < 300.0) <= 15.0
    assert 3600.0 <= max(gaps.values()) <= 1.25 * 3600.0
    assert len(gaps) < 100


def test_a_change_on_the_server_ends_and_resets_all_pauses():
    resting, now = PathBackoff(draw=lambda: 0.5), 0.0
    while resting.next() - now < 600.0 or not resting.paused(now):
        now = resting.next() if resting.paused(now) else now
        resting.note({"a.md": "it is locked"}, now)

    resting.start_again(now + 1.0)

    assert resting.paused(now + 1.0) == {}
    assert resting.next() == now + 1.0
    resting.note({"a.md": "it is locked"}, now + 1.0)
    assert resting.next() <= now + 1.0 + 15.0


def test_an_unreachable_server_is_retried_every_15_seconds_at_first_and_then_less_often():
    for draw in (0.0, 1.0):
        away, now, gaps = SyncBackoff(POLL, 0.0, draw=lambda draw=draw: draw), 0.0, {}
        while now < 7200.0:
            away.failed(RemoteUnreachable("gone"), now)
            gaps[now] = away.next()[0] - now
            now = away.next()[0]

        assert max(gap for at, gap in gaps.items() if at < 300.0) <= 15.0
        assert max(gaps.values()) <= 1.25 * LONGEST
        assert max(gaps.values()) > 100.0


def test_a_recovered_path_is_forgotten_and_a_paused_one_is_not():
    resting = PathBackoff(draw=lambda: 0.5)
    resting.note({"a.md": "it is locked", "b.md": "it is locked"}, 0.0)

    resting.note({"a.md": "it is locked", "b.md": "it is locked"}, 1.0)
    assert resting.next() == 5.0, "what rests did not fail anew"
    resting.note({"b.md": "it is locked"}, 6.0)

    assert set(resting.paused(6.0)) == {"b.md"}
    assert resting.next() == 18.0
