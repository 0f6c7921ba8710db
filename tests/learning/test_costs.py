"""What a night costs: tokens in the report, and a budget at which the rules take over."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from tests.learning.test_brains import model
from tests.models.scripted import Asked, Sent, learns
from vault_memory.learning.token_budget import (
    LARGEST,
    MOST_QUESTIONS,
    NAME,
    TOO_MANY,
    BudgetedBrain,
    TokenBudget,
    Usage,
    UsageLog,
)
from vault_memory.models.llm.model_access import CallTokens, estimated_tokens, tokens_of_reply
from vault_memory.models.llm.phrase_rules import RulesBrain
from vault_memory.rules.learning.model_prompt import Excerpt, Prompt

SCOPE = "user:mira"
MAY = datetime(2026, 5, 26, 2, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, 2, tzinfo=UTC)


def counts_tokens(asked: Asked) -> Sent:
    """A server that names the tokens of its answer."""
    payload = json.loads(learns(asked).body)
    payload["usage"] = {"prompt_tokens": 1000, "completion_tokens": 30}
    return Sent(200, json.dumps(payload).encode())


def test_the_report_names_the_tokens_that_the_server_counted(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")

    with model(bedroom, counts_tokens) as server:
        tokens = bedroom.sleep()[SCOPE]["tokens"]

    calls = len(server.asked)
    assert calls > 0
    assert tokens == {"in": 1000 * calls, "out": 30 * calls, "calls": calls, "estimated": 0}


def test_tokens_are_estimated_where_the_server_does_not_count_them(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")

    with model(bedroom, learns) as server:
        printed = bedroom.seen.run("sleep", "--now", "2026-05-26T02:05+01:00").out

    read = [estimated_tokens(asked.system + asked.text) for asked in server.asked]
    assert sum(read) > 0
    calls = f"{len(read)} call" + "s" * (len(read) > 1)
    assert f"{calls} ({len(read)} estimated)" in printed
    assert "tokens this month: " in printed


@pytest.mark.sampled
def test_at_the_budget_the_rules_answer_and_the_report_says_so(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")
    with model(bedroom, counts_tokens, BRAIN_MONTHLY_TOKENS="900") as server:
        first = bedroom.sleep()[SCOPE]
        asked = len(server.asked)
        bedroom.say("I am allergic to celery, too.", day="2026-05-26")
        second = bedroom.sleep(now="2026-05-27T02:05+01:00")[SCOPE]
        asked_later = len(server.asked)
        bedroom.say("I am allergic to walnuts, too.", day="2026-06-01")
        third = bedroom.sleep(now="2026-06-02T02:05+01:00")[SCOPE]

    assert first["rung"] == "schema"
    assert (second["rung"], asked_later) == ("rules", asked)
    assert "900 tokens of 2026-05 are spent" in second["reason"]
    assert second["memories"] + second["facts"] > 0
    # A new month has a new budget.
    assert third["rung"] == "schema"
    assert third["tokens"]["calls"] == len(server.asked) - asked_later


def spent(bedroom) -> int:
    """The calls that the log counts in all scopes and months."""
    lines = (bedroom.seen.state / NAME).read_text().splitlines()
    return sum(json.loads(line)["calls"] for line in lines)


def test_the_self_test_of_a_model_is_counted(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")
    with model(bedroom, counts_tokens, BRAIN_MODE="auto") as server:
        bedroom.seen.run("doctor")
        tests = [asked for asked in server.asked if "penicillin" in asked.text]
        by_doctor = spent(bedroom)
        bedroom.set(BRAIN_MODEL="another")
        tokens = bedroom.sleep()[SCOPE]["tokens"]

    assert (len(tests), by_doctor) == (1, 1)
    assert tokens["calls"] == len(server.asked) - 1
    assert spent(bedroom) == len(server.asked)


def test_doctor_tests_no_model_beyond_the_budget(bedroom):
    settings = {"BRAIN_MODE": "auto", "BRAIN_MONTHLY_TOKENS": "900"}
    with model(bedroom, counts_tokens, **settings) as server:
        bedroom.seen.run("doctor")
        bedroom.set(BRAIN_MODEL="another")
        printed = bedroom.seen.run("doctor").out

    assert len(server.asked) == 1
    assert "are spent" in printed


def test_without_a_model_no_tokens_are_spent(bedroom):
    bedroom.say("I am allergic to mackerel since I was a child.")

    tokens = bedroom.sleep()[SCOPE]["tokens"]

    assert tokens == {"in": 0, "out": 0, "calls": 0, "estimated": 0}
    assert not (bedroom.seen.state / NAME).exists()


def test_a_budget_below_zero_is_refused(bedroom):
    bedroom.set(BRAIN_MONTHLY_TOKENS="-1")

    assert bedroom.seen.run("sleep").code == 3


def test_a_round_asks_six_questions_at_most(tmp_path):
    budget = TokenBudget(tmp_path, 0, MAY)
    budget.begin_round(SCOPE)
    brain = BudgetedBrain(RulesBrain(), budget)
    prompt = Prompt("extraction", "", (), (Excerpt("a", "mira", "I sail.", own=True),))

    reasons = [brain.answer(prompt).reason for _ in range(MOST_QUESTIONS + 1)]

    assert reasons == [""] * MOST_QUESTIONS + [TOO_MANY]
    budget.begin_round(SCOPE)
    assert brain.answer(prompt).reason == ""


# --- The count ---


def test_each_scope_and_month_has_its_own_sum(tmp_path):
    log = UsageLog(tmp_path)
    log.add(SCOPE, MAY, CallTokens(100, 10))
    log.add(SCOPE, MAY, CallTokens(50, 5, is_estimated=True))
    log.add("channel:harbour", MAY, CallTokens(7, 1))
    log.add(SCOPE, JUNE, CallTokens(1, 1))

    assert log.of_month(MAY) == {SCOPE: Usage(150, 15, 2, 1), "channel:harbour": Usage(7, 1, 1, 0)}
    assert log.of_month(JUNE) == {SCOPE: Usage(1, 1, 1, 0)}


@pytest.mark.parametrize(
    "line", [b'{"month": "2026-05", "sco', b"[]", b'{"month": "2026-05", "scope": "x"}']
)
def test_a_torn_line_costs_only_itself(tmp_path, line):
    log = UsageLog(tmp_path)
    log.add(SCOPE, MAY, CallTokens(100, 10))
    with (tmp_path / NAME).open("ab") as file:
        file.write(line)
    log.add(SCOPE, MAY, CallTokens(100, 10))

    assert log.of_month(MAY) == {SCOPE: Usage(200, 20, 2, 0)}


def test_a_long_log_is_folded_and_keeps_its_sums(tmp_path):
    log = UsageLog(tmp_path)
    log.add(SCOPE, MAY, CallTokens(3, 4))
    [line] = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    copies = LARGEST // len(line) + 1
    (tmp_path / NAME).write_bytes(line * copies)

    log.fold()

    assert len((tmp_path / NAME).read_bytes().splitlines()) == 1
    assert log.of_month(MAY) == {SCOPE: Usage(3 * copies, 4 * copies, copies, 0)}


@given(st.text())
def test_an_estimate_is_never_below_zero_nor_above_the_letters(text):
    assert 0 <= estimated_tokens(text) <= len(text)


def test_letters_of_chinese_are_a_token_each():
    assert estimated_tokens("我喜欢茶") == 4
    assert estimated_tokens("I like tea") == 3
    assert estimated_tokens("我喜欢 tea!") == 3 + 2


@every("usage", [None, [], {"prompt_tokens": -1}, {"prompt_tokens": True}])
def test_a_count_that_makes_no_sense_is_estimated(usage):
    request = {"messages": [{"role": "user", "content": "four"}]}
    reply = {"usage": usage, "choices": [{"message": {"content": "12345678"}}]}

    tokens = tokens_of_reply(json.dumps(request).encode(), json.dumps(reply).encode())

    assert tokens == CallTokens(1, 2, is_estimated=True)
