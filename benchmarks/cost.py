"""What work costs: seconds of processor time of this process, of a new one, or of one that runs."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def median_cpu(work: Callable[[], object], rounds: int) -> float:
    """The median of some rounds, in CPU seconds."""
    return statistics.median(cpu_seconds(work) for _ in range(rounds))


def process_cpu(
    command: Sequence[str], environment: Mapping[str, str], said: Path = Path(os.devnull)
) -> float:
    """CPU seconds of a new process and its children, from its start to its end; `said` is its standard input."""
    with said.open("rb") as stdin:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"error: {' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def median_process_cpu(
    command: Sequence[str],
    environment: Mapping[str, str],
    rounds: int,
    said: Path = Path(os.devnull),
) -> float:
    """The median of some new processes, after one that fills the caches of the disk."""
    process_cpu(command, environment, said)
    return statistics.median(process_cpu(command, environment, said) for _ in range(rounds))


def resident_bytes(pid: int) -> int:
    """The memory of a process that is in RAM, shared libraries included."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"error: process {pid} is gone")


def running_cpu(pid: int) -> float:
    """CPU seconds that a process has used, to the nanosecond; also in threads that have ended."""
    return time.clock_gettime(~pid << 3 | 2)
