"""The uploads of this device that others may not have read: how long the table keeps them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vault_memory.database.connection import connect
from vault_memory.sync.apply.unread_uploads import UNNOTICED_SECONDS, SentUpload, UnreadUploads
from vault_memory.sync.state_db import SyncState
from vault_memory.sync.trees import BaseFile


@pytest.fixture
def uploads(tmp_path: Path) -> Iterator[UnreadUploads]:
    state = SyncState(connect(tmp_path / "sync.sqlite"))
    yield UnreadUploads(state)
    state.close()


def upload(number: int, at: float, *, is_answered: bool = True) -> SentUpload:
    return SentUpload(
        path="tea.md",
        revision=f"text {number}",
        before=f"text {number - 1}",
        size=10,
        at=at,
        evidence="reported" if is_answered else "unanswered",
    )


def kept(uploads: UnreadUploads, base: int) -> list[str]:
    chain = uploads.chain("tea.md", BaseFile(f"text {base}"))
    return [sent.revision for sent in chain]


def test_an_upload_that_the_server_answers_ends_those_before_the_last_minute(
    uploads: UnreadUploads,
):
    uploads.record(upload(1, 0))
    uploads.record(upload(2, UNNOTICED_SECONDS))

    assert kept(uploads, 2) == ["text 2"]


def test_an_upload_without_an_answer_ends_none_of_those_before_it(uploads: UnreadUploads):
    """It may not have arrived, so the texts before it are the newest ones of ours."""
    uploads.record(upload(1, 0))
    uploads.record(upload(2, UNNOTICED_SECONDS, is_answered=False))

    assert kept(uploads, 1) == ["text 2", "text 1"]


def test_an_upload_over_a_text_of_others_begins_a_new_chain(uploads: UnreadUploads):
    uploads.record(upload(1, 0))
    uploads.record(upload(5, 1))

    assert kept(uploads, 5) == ["text 5"]
