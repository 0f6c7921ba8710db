"""Two people of one name in two vaults: over every route of the document, neither reaches the other's."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.every import every
from tests.http.many_vaults import IDS, Host, starter
from tests.http.served import digests_of
from tests.http.test_scopes import (
    CALLERS,
    CHANGING,
    HERS,
    MIRA,
    REFUSED_TO_STRANGERS,
    ROUTES,
    SECRET,
    TEXTS,
    WAITING,
    every_answer,
    tree,
)

HERS_TOKEN, OTHER_TOKEN = MIRA, "other-" + "o" * 40
"""Mira's of the north, and that of the other Mira in the south"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("vaults")
        host = starter(folder, stack)(requests_per_minute=10_000_000)
        caller = CALLERS[MIRA]
        host.callers[IDS["north"]] = digests_of({HERS_TOKEN: caller})
        host.callers[IDS["south"]] = digests_of({OTHER_TOKEN: caller})
        memory = host.vaults.memory("north")
        for note, text in HERS.items():
            path = memory.root / note
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for session in ("hers-quexalo", TEXTS[0]):
            memory.record_turn(
                session=session, role="user", user="mira", text="the marigold is a quexalo"
            )
        memory.record_turn(session="held", role="user", user="mira", text=WAITING)
        memory.end_session("held", user="mira")
        memory.index()
        yield host


@pytest.mark.sampled
@every("name", ROUTES)
def test_a_person_of_the_same_name_in_another_vault_reads_and_changes_nothing(
    host: Host, name: str
) -> None:
    root = host.vaults.folders[IDS["north"]]
    before = tree(root)

    answers = every_answer(host.client(OTHER_TOKEN), name)

    for answer in answers:
        asked = str(answer.request.url) + answer.request.content.decode()
        assert SECRET not in answer.text or SECRET in asked, (asked, answer.text)
        assert answer.status_code in (200, 400, 404, 405), (asked, answer.text)
    is_refused = name in REFUSED_TO_STRANGERS
    assert is_refused or any(answer.status_code == 200 for answer in answers)
    assert tree(root) == before


@pytest.mark.sampled
@every("name", sorted(set(ROUTES) - CHANGING))
def test_its_owner_reads_it(host: Host, name: str) -> None:
    answers = every_answer(host.client(HERS_TOKEN), name)

    assert any(SECRET in answer.text for answer in answers if answer.status_code == 200)
