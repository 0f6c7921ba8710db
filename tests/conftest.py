"""What every test can rely on: a home of its own, so that nothing here touches a person's own state."""

import gc
import itertools
import os
import pickle
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import SAMPLED_PART, cases, in_sample
from tests.unchanged_addons import Unchanged, unchanged_addons

if sys.platform != "win32":
    from vault_memory.ingest import lifecycle

if TYPE_CHECKING:
    from tests.remote.servers.s3_stores import S3Store

NOT_ON_WINDOWS = [
    "markdown/chunking/test_chunk_limit.py",
    "rules/edits/test_folding.py",
    "rules/edits/test_policy.py",
    "rules/paths/test_conflict_names.py",
]
"""Of the portable tests: those that import a part which does not run there"""
collect_ignore = NOT_ON_WINDOWS if sys.platform == "win32" else []
PROJECT = Path(__file__).resolve().parent.parent
FIRST_MOVING, MOVING = 1_000_000, 1_000_000_000
"""Seeds that move begin where the pinned ones and those of the deep run have ended"""
ALLOCATIONS_BETWEEN_SEARCHES = 20_000
"""For garbage: Python's own 700 take a twelfth of the time of the tests"""
UNCHANGED = pytest.StashKey[Unchanged | None]()
"""The add-ons of which only the smoke tests run"""
SHORT_PATIENCE_SECONDS = 0.06
"""Longer than a tick of the clock that file times come from, within which a note is read again and again"""

settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "house", settings.get_profile("search"), derandomize=True, max_examples=cases(100)
)
settings.load_profile(
    "house"
)  # a commit that is green stays green; `make test-deep` searches elsewhere each time


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds-from", type=int, help="the first of the seeds that move; without it, any"
    )
    parser.addoption(
        "--addons",
        choices=("all", "changed"),
        default="all",
        help="changed: of an add-on that has not changed, as git tells, only the smoke tests",
    )
    parser.addoption(
        "--sampled",
        choices=("all", "part"),
        default="all",
        help=f"part: one of {SAMPLED_PART} costly tests, chosen by the moving seed",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Fault: a shell starts a job in the background with SIGINT ignored, and each
    # program that a test starts would inherit that: Ctrl-C would not end it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A worker takes seeds and add-ons from the process that started it, whose header names them.
    if worker := getattr(config, "workerinput", None):
        config.option.seeds_from = worker["seeds_from"]
        config.stash[UNCHANGED] = pickle.loads(worker["unchanged"])
        return
    if config.option.seeds_from is None:
        config.option.seeds_from = random.SystemRandom().randrange(
            FIRST_MOVING, FIRST_MOVING + MOVING
        )
    asked = config.option.addons == "changed"
    config.stash[UNCHANGED] = unchanged_addons(PROJECT) if asked else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["seeds_from"] = node.config.option.seeds_from
    node.workerinput["unchanged"] = pickle.dumps(node.config.stash[UNCHANGED])


def pytest_report_header(config: pytest.Config) -> list[str]:
    seeds = f"moving seeds: --seeds-from {config.option.seeds_from} takes the same again"
    if config.option.sampled == "part":
        seeds += f", with one of {SAMPLED_PART} costly tests; `EFFORT=full make test` runs all"
    unchanged = config.stash[UNCHANGED]
    return [seeds, str(unchanged)] if unchanged else [seeds]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if unchanged := config.stash[UNCHANGED]:
        terminalreporter.write_line(str(unchanged))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    unchanged = config.stash[UNCHANGED]
    if unchanged and collection_path.suffix == ".py":
        # None leaves the decision to the other rules.
        return unchanged.leave_out_file(collection_path, PROJECT) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unchanged = config.stash[UNCHANGED]
    seed = config.option.seeds_from

    def is_tried(item: pytest.Item) -> bool:
        if unchanged and unchanged.covers(item.path, PROJECT):
            return item.get_closest_marker("smoke") is not None
        is_part = config.option.sampled == "part" and item.get_closest_marker("sampled")
        return not is_part or in_sample(item.nodeid, seed)

    items[:] = [item for item in items if is_tried(item)]


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects thousands of tests in half the time: no garbage arises, and to search for it takes as long."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN_SEARCHES)
    gc.enable()


@pytest.fixture(scope="session")
def seeds_from(pytestconfig: pytest.Config) -> int:
    """The first of the seeds that are others in each run."""
    return int(pytestconfig.option.seeds_from)


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder that holds pyproject.toml."""
    return PROJECT


@pytest.fixture(scope="session")
def s3_store_named() -> "Iterator[Callable[[str], S3Store]]":
    """Gives a store of S3 by name (`s3_stores.NAMES`), started once; skips the test where it is missing."""
    from tests.remote.servers import s3_stores

    running: dict[str, S3Store] = {}

    def named(name: str) -> "S3Store":
        if reason := s3_stores.missing(name):
            pytest.skip(reason)
        if name not in running:
            running[name] = s3_stores.start(name)
        return running[name]

    yield named
    for store in running.values():
        store.stop()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names for the homes of tests: each test makes its own."""
    folder = tmp_path_factory.mktemp("home", numbered=False)
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and cache lie in a folder of this test, and no setting of the person who runs it leaks in."""
    home = next(homes)
    home.mkdir(mode=0o700)
    for name in list(os.environ):
        is_for_tests = name.startswith("VAULT_MEMORY_TEST_")
        if name.startswith("VAULT_MEMORY_") and not is_for_tests:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("LOGNAME", "keeper")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    return home


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, the second look at a note that was saved just now comes soon.

    Processes of their own wait as long as for a person.
    """
    if sys.platform != "win32":
        monkeypatch.setattr(lifecycle, "PATIENCE_SECONDS", SHORT_PATIENCE_SECONDS)


@pytest.fixture(autouse=True)
def closed_breakers() -> Iterator[None]:
    """No failure of this test counts against the server of a later one, which may get the same port."""
    yield
    breaker = sys.modules.get("vault_memory.models.llm.openai")
    if breaker is not None:
        breaker._breakers.clear()


@pytest.fixture
def sample_vault(tmp_path: Path) -> Path:
    """A copy of the sample vault to do with as one likes."""
    return Path(shutil.copytree(PROJECT / "sample_vault", tmp_path / "sample_vault"))


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Threads give way to each other between almost any two steps."""
    seconds = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(seconds)
