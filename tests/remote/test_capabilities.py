"""The trying-out at first contact: what it costs, and that it leaves nothing, also when it breaks off."""

from dataclasses import replace

import pytest

from tests.remote.servers.direct import DirectAdapter
from tests.remote.servers.faults import NOT_FOUND, Answer, CutResponse, Faulty, Rule, Script
from tests.remote.servers.nextcloud import Clock, FakeNextcloud
from vault_memory.remote.http_transport import Account
from vault_memory.remote.nextcloud import Nextcloud
from vault_memory.remote.remote_errors import RemoteError
from vault_memory.rules.paths.filenames import ignored


def on(fake: FakeNextcloud, script: Script) -> Nextcloud:
    app = DirectAdapter(Faulty(fake, script))
    return Nextcloud(
        f"http://cloud.example{fake.dav_path}", Account(fake.user, fake.app_password), adapter=app
    )


def test_a_probe_costs_few_requests_and_leaves_nothing_behind(nextcloud: FakeNextcloud) -> None:
    remote = on(nextcloud, Script())

    remote.probe()

    assert remote.traffic.requests <= 26
    assert nextcloud.files() == {}
    assert nextcloud.folders() == set()
    remote.close()


LEFT = "vault-memory-probe-0123456789ab.tmp"


def test_a_probe_removes_leftovers_of_one_killed_an_hour_ago(
    nextcloud: FakeNextcloud, clock: Clock
) -> None:
    others = {LEFT + ".d", "vault-memory-probe-mine.tmp", "notes"}
    for folder in (LEFT, *others):
        nextcloud.other_client_put(f"{folder}/a.md", b"first\n")
    nextcloud.other_client_put(
        "notes/vault-memory-probe-0123456789ab.tmp", b"a note of that name\n"
    )
    remote = on(nextcloud, Script())

    clock.pass_(3599)
    remote.probe()
    assert LEFT in nextcloud.folders()

    clock.pass_(1)
    remote.probe()
    assert nextcloud.folders() == others
    assert "notes/vault-memory-probe-0123456789ab.tmp" in nextcloud.files()
    remote.close()


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(0, 20, 3))
@pytest.mark.parametrize(
    "fault", [Answer(503), Answer(423), CutResponse(30)], ids=["503", "423", "cut"]
)
def test_a_probe_that_fails_at_any_step_claims_no_capability(
    number: int, fault: Answer | CutResponse, nextcloud: FakeNextcloud
) -> None:
    remote = on(nextcloud, Script([Rule(fault, skip=number)]))
    before = remote.traits

    try:
        traits = remote.probe()
    except RemoteError:
        assert remote.traits == before
    else:
        assert traits == remote.traits
        assert replace(traits, infinity=True, bulk=False) == Nextcloud.default_traits
    assert all(ignored(folder.partition("/")[0]) for folder in nextcloud.folders())
    remote.close()


@pytest.mark.parametrize(("times", "kept"), [(1, True), (None, False)])
def test_versions_count_as_supported_unless_a_proxy_always_hides_them(
    times: int | None, kept: bool, nextcloud: FakeNextcloud
) -> None:
    remote = on(nextcloud, Script([Rule(NOT_FOUND, "PROPFIND", "/versions/", times=times)]))

    assert remote.probe().versions == kept
    remote.close()
