"""A daemon with nothing to do, 1,000 notes: its memory and its share of a processor, without and with a model.

All chunks but some have random vectors beforehand; the daemon embeds those with the real model, answers a few
searches, and is then left alone. The minute measured holds one look through the whole vault.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import stand_in, vaults
from benchmarks.cost import resident_bytes, running_cpu
from benchmarks.daemons import Running, running
from benchmarks.place import OFF, ONNX, Place
from benchmarks.table import Row

NOTES = 1_000
EMBEDDED = 200
"""Chunks that the daemon embeds itself"""
SECONDS = 60
MOST_MEGABYTES = {"without a model": 70, "with ONNX": 250}
MOST_PERCENT = 0.1


def rows(place: Place) -> Iterator[Row]:
    """Three rows: memory without and with a model, and the processor."""
    with ExitStack() as stack:
        daemons = {
            "without a model": stack.enter_context(
                running(place, indexed(place, "idle-off", OFF), OFF)
            ),
            "with ONNX": stack.enter_context(
                running(place, indexed(place, "idle-onnx", ONNX), ONNX)
            ),
        }
        daemons["with ONNX"].wait_until_embedded()
        for daemon in daemons.values():
            _ask_around(daemon)
        time.sleep(3)
        before = {what: running_cpu(daemon.pid) for what, daemon in daemons.items()}
        time.sleep(SECONDS)
        percent = {
            what: 100 * (running_cpu(daemon.pid) - before[what]) / SECONDS
            for what, daemon in daemons.items()
        }
        memory = {what: resident_bytes(daemon.pid) / 1e6 for what, daemon in daemons.items()}
    for what, most in MOST_MEGABYTES.items():
        yield Row(
            f"idle daemon, {NOTES:,} notes, memory {what}",
            "235–489 MB",
            "–",
            f"{memory[what]:.0f} MB",
            f"≤ {most} MB",
            memory[what] <= most,
        )
    worst = max(percent.values())
    yield Row(
        f"idle daemon, {NOTES:,} notes, processor",
        "0.1 %",
        "–",
        ", ".join(f"{share:.3f} % {what}" for what, share in percent.items()),
        f"≤ {MOST_PERCENT} %",
        worst <= MOST_PERCENT,
    )


def indexed(place: Place, name: str, embedding: dict[str, str]) -> Path:
    """A vault whose text is indexed, and whose vectors are there but for some."""
    vault = place.vault(name, NOTES, seed=6)
    with place.open(vault, embedding) as memory:
        memory.index(embed=False)
        if not memory.warm():
            embedder = memory.vault.semantic.embedder
            assert embedder is not None
            stand_in.fill(
                memory.vault.indexing.index(),
                fingerprint=embedder.fingerprint,
                name=embedder.name,
                spare=EMBEDDED,
            )
        elif embedding is ONNX:
            raise SystemExit(
                f"error: no model: {memory.vault.semantic.reason}\n\nhint: `make bench` installs it"
            )
    return vault


def _ask_around(daemon: Running) -> None:
    for scope in (*vaults.SCOPES, *vaults.SCOPES[:3]):
        daemon.ask("search", {"query": "what was said of the harbour?", "scopes": [scope]})
