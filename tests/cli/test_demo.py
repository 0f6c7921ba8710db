"""The demo answers its own questions right, at the first place."""

import re

from tests.scenarios.outside import Outside

ANSWERS = {
    "where does Mira keep the spare key of the lighthouse?": "barometer",
    "which food would make somebody ill?": "walnuts",
    "where are the spare batteries of the radio?": "bread bin",
    "when does the boat with the lamp oil come?": "Thursday",
    "what is Mira allergic to?": "mackerel",
}
ANSWER = re.compile(
    r"^\? (?P<question>[^\n(]+\?)[^\n]*\n"
    r"(?P<hits>(?:  \S+:\d+  [^\n]+\n(?:  [^\n]+\n)*?)*)"
    r"  semantic: (?P<semantic>\w+)",
    re.MULTILINE,
)


def test_the_first_line_answers_each_question_of_the_demo(outside: Outside):
    done = outside.bare("demo")
    assert done.code == 0, done

    answers = list(ANSWER.finditer(done.out + done.err))

    assert [answer["question"] for answer in answers] == list(ANSWERS)
    for answer in answers:
        first = re.split(r"\n  \S+:\d+  ", answer["hits"])[0]
        is_off = "by meaning" in answer[0] and answer["semantic"] == "off"
        # Without a model nothing is found by meaning.
        assert is_off or ANSWERS[answer["question"]] in first, answer[0]
