"""Writes numbers in the text format of Prometheus, with Prometheus' own client."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from vault_memory.api.metrics import Family

PREFIX = "vault_memory_"


class _Snapshot(Collector):
    """A collector of numbers that are collected already."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            if not family.samples:
                continue
            name = PREFIX + family.name
            # The client writes the ending of a counter itself.
            metric = Metric(name.removesuffix("_total"), family.help, family.kind)
            for sample in family.samples:
                metric.add_sample(name + sample.suffix, dict(sample.labels), sample.value)
            yield metric


def as_text(families: Iterable[Family]) -> bytes:
    """Return the numbers in the text format of Prometheus, version 0.0.4."""
    # A registry of its own: the global one has numbers about the Python process, too.
    registry = CollectorRegistry()
    registry.register(_Snapshot(families))
    return generate_latest(registry)
