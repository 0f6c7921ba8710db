"""Arguments of calls are checked by tables that are made at the first call."""

import threading

import pytest

from tests.effort import few
from vault_memory.rules.call_values import checked_calls

THREADS = 4


@pytest.mark.usefixtures("frequent_switches")
def test_the_first_calls_of_several_threads_are_checked_alike() -> None:
    for _ in range(few(400)):

        @checked_calls
        class Counter:
            def count(self, text: str, *, limit: int = 0, start: int = 0) -> int:
                return len(text) + limit + start

        begin = threading.Barrier(THREADS)
        counts: list[int] = []
        counter = Counter()

        def ask() -> None:
            begin.wait()  # noqa: B023
            counts.append(counter.count("tea", limit=1, start=2))  # noqa: B023

        threads = [threading.Thread(target=ask) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [6] * THREADS
