"""The words and signs that negate a statement: one table for all that compares statements. Pure."""

import re
from functools import cache

from vault_memory.rules.search.tokens import words

_NEGATIONS = """
    not no never none nothing cannot without neither nor hardly
    kein keine keinen keinem keiner keines nicht nie niemals ohne nichts
    nunca jamás sin ninguno ninguna nada tampoco
    pas jamais sans aucun aucune rien
    не нет никогда без ничего нельзя
"""
"""Words that negate what a clause says"""
_OTHERS = """
    nobody cant dont wont doesnt didnt
    isnt arent wasnt werent havent hasnt hadnt couldnt wouldnt shouldnt stopped anymore
    niemand weder personne non nadie ningún
    não nem nenhum nenhuma mai niente nessuno senza niet geen nooit
    inte aldrig ingen inget nigdy bez
    ни никто ні ніколи
"""
"""Words that negate a statement, and often mean something else within a longer text: "mai" is May"""
_PARTICLES = frozenset({"ne", "n", "t"})
"""What is left of "n'aime" and "don't"; most of them come with another word of the table"""
NEGATION_LETTERS = re.compile("[不没沒無无別别未勿莫]|ない|ません")
_CONTRACTED = re.compile(r"\b\w+n['’]t\b", re.IGNORECASE)


def count_negations(statement: str) -> int:
    """Returns how often a single statement is negated; "don't" and "do not" count alike."""
    contracted = len(_CONTRACTED.findall(statement))
    listed = sum(word in negation_words() for word in words(statement.casefold()))
    return contracted + listed + len(NEGATION_LETTERS.findall(statement))


def is_negated(clause: str) -> bool:
    """Returns whether a clause of a longer text negates what it says."""
    if NEGATION_LETTERS.search(clause):
        return True
    return not _words_of_clauses().isdisjoint(words(clause.replace("’", "'")))


@cache
def negation_words() -> frozenset[str]:
    """Returns the words that negate a single statement."""
    return frozenset(words(_NEGATIONS + _OTHERS))


@cache
def _words_of_clauses() -> frozenset[str]:
    return frozenset(words(_NEGATIONS)) | _PARTICLES
