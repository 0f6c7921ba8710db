"""The conformance suite of MCP, over HTTP and over a pipe, in the newest version of the protocol and the one before.

The suite knows only HTTP: `doors_of_mcp` stands between. Most of its scenarios call tools, prompts and resources of a
server that is made for it. Those that ask for anything else than ours are in the tables here, each with the reason.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import programs
from tests.clients.doors_of_mcp import over_http, over_pipe
from tests.mcp.vaults import fill
from tests.scenarios.outside import Outside, at

pytestmark = pytest.mark.clients

DOORS = {"http": over_http, "pipe": over_pipe}
VERSIONS = ("2025-11-25", "2026-07-28")
SECONDS = 300
_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")

ITS_TOOL = "it calls a tool that only the server of the suite has"
ITS_PROMPT = "it gets a prompt that only the server of the suite has"
ITS_RESOURCE = "it reads a resource that only the server of the suite has"
NO_COMPLETION = "no argument of ours is completed"
NO_LOGGING = "log messages go to standard error, and the protocol has dropped them"
NO_SUBSCRIPTION = "resources are read again; nothing is sent for them in this version"
NO_SESSION = "no request belongs to a session"

NOT_OURS = {
    "completion-complete": NO_COMPLETION,
    "elicitation-sep1034-defaults": ITS_TOOL,
    "elicitation-sep1330-enums": ITS_TOOL,
    "http-custom-header-server-validation": "no argument of ours is a header",
    "input-required-result-basic-elicitation": ITS_TOOL,
    "input-required-result-basic-list-roots": ITS_TOOL,
    "input-required-result-basic-sampling": ITS_TOOL,
    "input-required-result-capability-check": ITS_TOOL,
    "input-required-result-ignore-extra-params": ITS_TOOL,
    "input-required-result-missing-input-response": ITS_TOOL,
    "input-required-result-multi-round": ITS_TOOL,
    "input-required-result-multiple-input-requests": ITS_TOOL,
    "input-required-result-non-tool-request": ITS_PROMPT,
    "input-required-result-request-state": ITS_TOOL,
    "input-required-result-result-type": ITS_TOOL,
    "input-required-result-tampered-state": ITS_TOOL,
    "json-schema-2020-12": ITS_TOOL,
    "logging-set-level": NO_LOGGING,
    "prompts-get-embedded-resource": ITS_PROMPT,
    "prompts-get-simple": ITS_PROMPT,
    "prompts-get-with-args": ITS_PROMPT,
    "prompts-get-with-image": ITS_PROMPT,
    "resources-read-binary": ITS_RESOURCE,
    "resources-read-text": ITS_RESOURCE,
    "resources-subscribe": NO_SUBSCRIPTION,
    "resources-templates-read": ITS_RESOURCE,
    "resources-unsubscribe": NO_SUBSCRIPTION,
    "tools-call-audio": ITS_TOOL,
    "tools-call-elicitation": ITS_TOOL,
    "tools-call-embedded-resource": ITS_TOOL,
    "tools-call-error": ITS_TOOL,
    "tools-call-image": ITS_TOOL,
    "tools-call-mixed-content": ITS_TOOL,
    "tools-call-sampling": ITS_TOOL,
    "tools-call-simple-text": ITS_TOOL,
    "tools-call-with-logging": ITS_TOOL,
    "tools-call-with-progress": ITS_TOOL,
}
"""Scenario → why it does not apply"""
ONLY_PIPE = "nobody listens over HTTP, where an open stream would keep a vault open"
STATIC = "the lists of tools and prompts never change while a server runs"
PARTLY_OURS = {
    "server-sse-multiple-streams": {"server-sse-multiple-streams-session": NO_SESSION},
    "server-sse-polling": {"server-sse-polling-session": NO_SESSION},
    "server-stateless": {
        "sep-2575-http-server-no-independent-requests-on-stream": ITS_TOOL,
        "sep-2575-missing-capability-http-400": ITS_TOOL,
        "sep-2575-server-honors-notification-filter": ONLY_PIPE,
        "sep-2575-server-no-log-without-loglevel": ITS_TOOL,
        "sep-2575-server-rejects-undeclared-capability": ITS_TOOL,
        "sep-2575-server-sends-prompts-list-changed-on-subscription": STATIC,
        "sep-2575-server-sends-subscription-ack": ONLY_PIPE,
        "sep-2575-server-sends-tools-list-changed-on-subscription": STATIC,
        "sep-2575-server-tags-subscription-id": ONLY_PIPE,
    },
}
"""Scenario → its checks that do not apply, and why"""
OF_HTTP = {"dns-rebinding-protection", "http-header-validation"}
"""Scenarios about headers and statuses, which a pipe lacks"""
ABOUT_HTTP = "-http-"
"""Is in the names of such checks of other scenarios"""


Checks = dict[str, bool]
"""Check → whether it succeeded"""


def checks_of(folder: Path) -> dict[str, Checks]:
    """Returns the checks of each scenario that was run."""
    found: dict[str, Checks] = {}
    for results in folder.iterdir():
        name = _FOLDER.fullmatch(results.name)
        assert name is not None, results.name
        checks = json.loads((results / "checks.json").read_text())
        succeeded: Checks = {}
        for check in checks:
            is_good = check["status"] in ("SUCCESS", "INFO")
            succeeded[check["id"]] = succeeded.get(check["id"], True) and is_good
        found[name["scenario"]] = succeeded
    return found


@pytest.fixture
def place(tmp_path: Path) -> Outside:
    outside = at(tmp_path)
    fill(outside)
    return outside


def differences(found: dict[str, Checks], *, is_pipe: bool) -> Iterator[str]:
    """Yields where the results and the tables disagree."""
    for scenario, checks in found.items():
        if is_pipe and scenario in OF_HTTP:
            continue
        if scenario in NOT_OURS:
            if all(checks.values()):
                yield f"{scenario} succeeds, and is in a table"
            continue
        reasons = PARTLY_OURS.get(scenario, {})
        excused = {
            check for check, reason in reasons.items() if not (is_pipe and reason == ONLY_PIPE)
        }
        for check, succeeded in checks.items():
            if is_pipe and ABOUT_HTTP in check:
                continue
            if succeeded and check in excused:
                yield f"{scenario}: {check} succeeds, and is in a table"
            if not (succeeded or check in excused):
                yield f"{scenario}: {check} failed"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("door", DOORS)
def test_all_that_applies_succeeds_and_nothing_else(
    place: Outside, door: str, version: str
) -> None:
    results = place.home / "results"
    with DOORS[door](place, "alice") as url:
        said = suite(
            place, "server", "--url", url, "--suite", "all", "--spec-version", version,
            "--output-dir", str(results),
        )  # fmt: skip
    found = checks_of(results)

    assert {"tools-list", "prompts-list", "resources-list"} <= found.keys(), said
    assert [*differences(found, is_pipe=door == "pipe")] == []


def test_the_tables_name_scenarios_of_the_suite(place: Outside) -> None:
    said = suite(place, "list")
    names = set(re.findall(r"^  - ([\w-]+) \[", said, re.MULTILINE))
    assert {*NOT_OURS, *PARTLY_OURS, *OF_HTTP} <= names


def suite(place: Outside, *arguments: str) -> str:
    """Returns what the suite prints."""
    run = subprocess.run(
        (*programs.conformance(), *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=place.home,
    )
    return run.stdout + run.stderr
