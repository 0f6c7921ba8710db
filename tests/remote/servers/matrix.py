"""What WebDAV servers were seen to do, as a table that is tried on each: experiments, and what each server answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.remote.servers.laboratory import Laboratory

SERVERS = (
    "apache-digest",
    "apache",
    "apache-infinity",
    "lighttpd",
    "sabre",
    "nginx",
    "rclone",
    "wsgidav",
    "nextcloud",
)
_APACHES = ("apache-digest", "apache", "apache-infinity")

Experiment = Callable[[Laboratory], str]


@dataclass(frozen=True)
class Row:
    """One experiment."""

    name: str
    experiment: Experiment
    expected: Mapping[str, str]
    """By server; servers that are not named are not asked."""


class Matrix:
    """Rows, in the order in which they are written down."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def row(self, usual: str | None = None, **others: str | None) -> Callable[[Experiment], None]:
        """One more: what most answer, and those that differ (None: not asked). `apache` stands for all three."""

        def add(experiment: Experiment) -> None:
            named = {name.replace("_", "-"): value for name, value in others.items()}
            if "apache" in named:
                named = {**dict.fromkeys(_APACHES, named["apache"]), **named}
            expected = {name: named.get(name, usual) for name in SERVERS}
            known = {name: value for name, value in expected.items() if value is not None}
            self.rows.append(Row(experiment.__name__.strip("_"), experiment, known))

        return add


def aged(lab: Laboratory, path: str = "a.md", body: bytes = b"first\n") -> str:
    """A file of some age, and its tag."""
    lab.put(path, body)
    lab.age(path)
    return lab.tag(path)


def joined(*statuses: object) -> str:
    """Several answers as one."""
    return "/".join(str(status) for status in statuses)
