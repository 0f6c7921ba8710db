"""Secrets are looked for in time that grows with the text, whatever it says."""

import time

import pytest

from tests.every import every
from vault_memory.models.llm.policy_tables import policy_cues

LETTERS = 30_000
SECONDS = 1.0


@pytest.mark.sampled
@every(
    "text",
    [
        "x" * LETTERS + " password",
        "password " + "x" * LETTERS,
        "password " * (LETTERS // 9),
        "pin 1 " * (LETTERS // 6),
        "我的密码" * (LETTERS // 4),
        "1" * LETTERS + " is my password",
    ],
    ids=["word-before", "word-after", "cues", "numbers", "run", "value-before"],
)
def test_a_long_text_does_not_hold_up_the_night(text):
    begin = time.process_time()

    policy_cues().is_secret(text)

    assert time.process_time() - begin < SECONDS


def test_a_secret_before_its_word_is_recognized():
    cues = policy_cues()

    assert cues.is_secret("swordfish is my password")
    assert cues.is_secret("By the way, swordfish is the password.")
    assert not cues.is_secret("nothing is in the password")
