"""The end that every exchange has, also for one that begins while the watch is asleep."""

import socket
import time

from vault_memory.remote.http_transport import Deadlines


def test_a_transfer_past_its_deadline_is_cut_and_others_continue() -> None:
    deadlines = Deadlines(0.3)
    for pause in (0.0, 0.1, 1.0):  # at the start, while it waits, and after it fell asleep
        time.sleep(pause)
        here, there = socket.socketpair()
        here.settimeout(10)
        slow, quick = deadlines.start(), deadlines.start()
        slow.sock = here
        deadlines.stop(quick)

        assert here.recv(1) == b""
        assert slow.late
        assert not quick.late
        deadlines.stop(slow)
        here.close()
        there.close()
    deadlines.close()
    deadlines.close()
