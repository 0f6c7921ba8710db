"""The threads of a host share their time between vaults."""

import threading
import time

from tests.service.running_host import until
from vault_memory.service.turn_lane import FEWEST_ENTRIES, NEVER, TurnJob, TurnLane


def started(threads: int) -> TurnLane:
    lane = TurnLane("test", threads)
    lane.start()
    return lane


def ended(lane: TurnLane) -> None:
    lane.stop()
    assert lane.join(120)


def test_one_job_takes_one_turn_at_a_time() -> None:
    lane = started(4)
    running, most, turns = 0, 0, 0

    def take_turn() -> float:
        nonlocal running, most, turns
        running += 1
        most = max(most, running)
        time.sleep(0.002)
        running -= 1
        turns += 1
        return NEVER

    job = TurnJob(take_turn)
    for _ in range(50):
        lane.plan(job)
        time.sleep(0.001)
    assert until(lambda: not job.is_running and job.due == NEVER)
    assert most == 1
    assert turns > 5
    ended(lane)


def test_a_plan_during_a_turn_is_not_forgotten() -> None:
    lane = started(1)
    turns = 0
    is_planned = threading.Event()

    def take_turn() -> float:
        nonlocal turns
        turns += 1
        if turns == 1:
            lane.plan(job)
            is_planned.set()
        return NEVER

    job = TurnJob(take_turn)
    lane.plan(job)
    assert is_planned.wait(120)
    assert until(lambda: turns == 2)
    ended(lane)


def test_an_error_in_one_vault_leaves_the_turns_of_others() -> None:
    lane = started(1)
    turns = 0

    def fail() -> float:
        raise RuntimeError("a bug")

    def take_turn() -> float:
        nonlocal turns
        turns += 1
        return NEVER

    lane.plan(TurnJob(fail))
    lane.plan(TurnJob(take_turn), 0.05)
    assert until(lambda: turns == 1)
    ended(lane)


def test_long_turns_of_some_vaults_leave_threads_for_the_others() -> None:
    lane = started(4)
    is_over = threading.Event()
    long_jobs = []
    for _ in range(6):
        job = TurnJob(lambda: is_over.wait(120) * NEVER)
        job.is_long = True
        long_jobs.append(job)
        lane.plan(job)
    turns = 0

    def take_turn() -> float:
        nonlocal turns
        turns += 1
        return NEVER

    short = TurnJob(take_turn)
    lane.plan(short)
    assert until(lambda: turns == 1)
    assert sum(job.is_running for job in long_jobs) == 2
    is_over.set()
    assert until(lambda: not any(job.is_running for job in long_jobs))
    assert until(lambda: all(job.due == NEVER for job in long_jobs))
    ended(lane)


def test_turns_that_are_announced_as_long_leave_threads_for_the_others() -> None:
    lane = started(4)
    is_over = threading.Event()
    begun: list[TurnJob] = []

    def announcing() -> TurnJob:
        def take_turn() -> float:
            job.expects_long = not job.is_long
            if job.expects_long:
                return 0.0
            begun.append(job)
            is_over.wait(120)
            return NEVER

        job = TurnJob(take_turn)
        return job

    for _ in range(6):
        lane.plan(announcing())
    assert until(lambda: len(begun) == 2)
    turns: list[int] = []
    short = TurnJob(lambda: turns.append(1) or NEVER)
    lane.plan(short)
    assert until(lambda: bool(turns))
    assert len(begun) == 2
    is_over.set()
    assert until(lambda: len(begun) == 6)
    ended(lane)


def test_a_withdrawn_turn_is_not_taken_and_a_running_one_is_not_withdrawn() -> None:
    lane = started(1)
    is_over, is_begun = threading.Event(), threading.Event()

    def take_turn() -> float:
        is_begun.set()
        is_over.wait(120)
        return NEVER

    running = TurnJob(take_turn)
    turns = 0

    def count() -> float:
        nonlocal turns
        turns += 1
        return NEVER

    waiting = TurnJob(count)
    lane.plan(running)
    assert is_begun.wait(120)
    assert not lane.withdraw(running)
    lane.plan(waiting)
    assert lane.withdraw(waiting)
    is_over.set()
    time.sleep(0.05)
    assert turns == 0
    ended(lane)


def test_a_job_that_is_often_planned_again_leaves_no_trace_of_it() -> None:
    lane = TurnLane("test", 1)
    tomorrow = TurnJob(lambda: NEVER)
    lane.plan(tomorrow, 86_400)
    job = TurnJob(lambda: NEVER)
    for count in range(10 * FEWEST_ENTRIES):
        lane.plan(job, 86_400 - count)
    assert len(lane._heap) <= 2 * FEWEST_ENTRIES
    turns = []
    for late in (tomorrow, job):
        late.take_turn = lambda: turns.append(None) or NEVER
        lane.plan(late)
    lane.start()
    assert until(lambda: len(turns) == 2)
    ended(lane)
