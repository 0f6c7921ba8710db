"""What a row holds is read by hosts of other versions, too."""

from vault_memory.addons.fleet.ledger.ledger_rows import caller_of, caller_text
from vault_memory.rules.paths.scopes import Caller


def test_a_token_of_the_ledger_confirms_nothing() -> None:
    text = caller_text(Caller("mira", "harbour", ("crew",), private=True, confirms=True))

    assert caller_of(text) == Caller("mira", "harbour", ("crew",), private=True)
    assert "confirms" not in text
