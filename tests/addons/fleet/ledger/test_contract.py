"""What every ledger promises."""

import hashlib
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.addons.fleet.ledger.books import Book
from vault_memory.addons.fleet.ledger.contract import Holder, Lease, LedgerCaller
from vault_memory.addons.fleet.ledger.ledger import Ledger
from vault_memory.addons.fleet.ledger.ledger_errors import (
    LeaseLost,
    LedgerTooNew,
    TokenTaken,
    UnknownVault,
    VaultAddedTwice,
)
from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.rules.paths.scopes import Caller

Open = Callable[..., Ledger]
NORTH = ("north", "http://10.0.0.1:7777")
SOUTH = ("south", "http://10.0.0.2:7777")
SHORT_LEASE = 0.15
HOUR = timedelta(hours=1)
ANN = hashlib.sha256(b"token of ann").digest()
BO = hashlib.sha256(b"token of bo").digest()


def now() -> datetime:
    return datetime.now(UTC)


def add(ledger: Ledger, name: str = "ann") -> str:
    vault = str(uuid.uuid4())
    ledger.add(vault, name, f"s3://homes/{name}")
    return vault


def take(ledger: Ledger, vault: str, host: tuple[str, str] = NORTH) -> Lease:
    lease = ledger.take(vault, *host)
    assert isinstance(lease, Lease)
    return lease


def claimed(ledger: Ledger, host: tuple[str, str] = NORTH, most: int = 100) -> set[str]:
    return {lease.vault for lease in ledger.claim(*host, most)}


def let_run_out() -> None:
    time.sleep(SHORT_LEASE + 0.1)


# --- The fleet ---


def test_all_hosts_see_one_fleet_and_one_secret(open_ledger: Open) -> None:
    first, second = open_ledger(), open_ledger()

    assert uuid.UUID(first.fleet)
    assert first.fleet == second.fleet
    assert first.secret == second.secret
    assert len(first.secret) >= 32


def test_a_ledger_of_a_newer_version_is_refused(book: Book, open_ledger: Open) -> None:
    add(open_ledger())
    book.set_format(99)

    with pytest.raises(LedgerTooNew, match="format 99") as error:
        open_ledger()

    assert error.value.exit_code == 3
    assert error.value.hint


def test_a_host_may_ask_how_long_its_leases_are(open_ledger: Open) -> None:
    assert open_ledger().lease_seconds == 30
    assert open_ledger(lease_seconds=7.5).lease_seconds == 7.5


# --- Vaults ---


def test_an_added_vault_is_found_by_its_name_and_its_id(ledger: Ledger) -> None:
    vault = add(ledger, "ann")

    for name in ("ann", vault, vault.upper()):
        row = ledger.vault(name)
        assert (row.id, row.name, row.home) == (vault, "ann", "s3://homes/ann")
        assert (row.epoch, row.holder, row.tries) == (0, None, 0)
        assert (row.trouble, row.waiting) == ("", 0)
        assert abs(row.due - now()) < timedelta(minutes=1)


@pytest.mark.parametrize("same", ["id", "name", "home"])
def test_a_vault_added_twice_is_refused_and_the_first_stays(ledger: Ledger, same: str) -> None:
    vault = add(ledger, "ann")
    row = {"id": str(uuid.uuid4()), "name": "bo", "home": "s3://homes/bo"}
    row[same] = {"id": vault, "name": "ann", "home": "s3://homes/ann"}[same]

    with pytest.raises(VaultAddedTwice) as error:
        ledger.add(row["id"], row["name"], row["home"])

    assert error.value.code == "vault_added_twice"
    assert [each.name for each in ledger.vaults()] == ["ann"]
    assert ledger.vault("ann").home == "s3://homes/ann"


def test_a_vault_needs_a_uuid(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="not the id of a vault"):
        ledger.add("ann", "ann", "s3://homes/ann")

    assert ledger.vaults() == []


@pytest.mark.parametrize("name", ["bo", "", "'; --", str(uuid.UUID(int=1))])
def test_each_call_names_a_vault_that_the_fleet_lacks(ledger: Ledger, name: str) -> None:
    add(ledger, "ann")
    calls: list[Callable[[], object]] = [
        lambda: ledger.vault(name),
        lambda: ledger.take(name, *NORTH),
        lambda: ledger.wake(name, now()),
        lambda: ledger.keep(name, b"op", "1"),
        lambda: ledger.forget(name),
        lambda: ledger.set_token(name, ANN, Caller("ann")),
        lambda: ledger.drop_tokens(name),
    ]
    for call in calls:
        with pytest.raises(UnknownVault) as error:
            call()
        assert error.value.http_status == 404


def test_a_text_that_is_no_unicode_is_refused(ledger: Ledger) -> None:
    vault = add(ledger)
    calls: list[Callable[[], object]] = [
        lambda: ledger.vault("\udcff"),
        lambda: ledger.add(str(uuid.uuid4()), "\udcff", "s3://homes/b"),
        lambda: ledger.take(vault, "\udcff", ""),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="cannot store"):
            call()


def test_vaults_are_listed_by_name(ledger: Ledger) -> None:
    for name in ("bo", "ann", "alice"):
        add(ledger, name)

    assert [vault.name for vault in ledger.vaults()] == ["alice", "ann", "bo"]


def test_counts_name_no_vault(ledger: Ledger) -> None:
    ann, bo = add(ledger, "ann"), add(ledger, "bo")
    add(ledger, "alice")
    ledger.give_back(take(ledger, ann), now() + HOUR, "its home is away")
    take(ledger, bo)
    ledger.keep(bo, b"op", "1")

    counts = ledger.counts()

    assert (counts.vaults, counts.leased, counts.due) == (3, 1, 1)
    assert (counts.troubled, counts.waiting) == (1, 1)


# --- Leases ---


def test_a_due_vault_is_claimed_by_one_host(open_ledger: Open) -> None:
    north, south = open_ledger(), open_ledger()
    vault = add(north)

    [lease] = north.claim(*NORTH, 10)

    assert (lease.vault, lease.home, lease.name) == (vault, "s3://homes/ann", "ann")
    assert lease.epoch == 1
    assert timedelta(0) < lease.until - now() < timedelta(seconds=60)
    assert south.claim(*SOUTH, 10) == []
    holder = south.vault("ann").holder
    assert holder is not None
    assert (holder.host, holder.address) == NORTH


def test_a_claim_takes_no_more_than_asked_and_the_longest_due_first(ledger: Ledger) -> None:
    vaults = []
    for number in range(5):
        vaults.append(add(ledger, f"vault{number}"))
        time.sleep(0.002)

    first = claimed(ledger, most=2)
    others = claimed(ledger, most=10)

    assert first == set(vaults[:2])
    assert others == set(vaults[2:])
    assert claimed(ledger) == set()


@pytest.mark.parametrize("most", [0, -1])
def test_a_host_without_room_claims_nothing(ledger: Ledger, most: int) -> None:
    add(ledger)

    assert claimed(ledger, most=most) == set()


def test_a_vault_that_is_due_later_is_not_claimed(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.give_back(take(ledger, vault), now() + HOUR)

    assert claimed(ledger) == set()

    soon = add(ledger, "bo")
    ledger.give_back(take(ledger, soon), now() + timedelta(seconds=0.1))
    time.sleep(0.2)

    assert claimed(ledger) == {soon}


def test_a_request_takes_a_vault_that_is_not_due(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.give_back(take(ledger, vault), now() + HOUR)

    lease = take(ledger, vault)

    assert lease.epoch == 2


def test_a_request_learns_who_holds_the_vault(open_ledger: Open) -> None:
    north, south = open_ledger(), open_ledger()
    vault = add(north)
    take(north, vault)

    holder = south.take(vault, *SOUTH)

    assert isinstance(holder, Holder)
    assert (holder.host, holder.address) == NORTH
    assert 0 < holder.seconds < 31


def test_a_second_process_of_one_name_does_not_get_the_lease_of_the_first(
    open_ledger: Open,
) -> None:
    vault = add(open_ledger())
    take(open_ledger(), vault)

    assert isinstance(open_ledger().take(vault, *NORTH), Holder)


def test_a_lease_that_ran_out_goes_to_the_next_host(open_ledger: Open) -> None:
    north, south = open_ledger(lease_seconds=SHORT_LEASE), open_ledger()
    vault = add(north)
    old = take(north, vault)
    let_run_out()

    new = take(south, vault, SOUTH)

    assert new.epoch == old.epoch + 1
    assert north.renew([old]) == set()
    assert south.renew([new]) == {vault}


def test_a_vault_whose_holder_died_is_due_at_once(open_ledger: Open) -> None:
    north, south = open_ledger(lease_seconds=SHORT_LEASE), open_ledger()
    vault = add(north)
    north.give_back(take(north, vault), now() + HOUR)
    take(north, vault)
    let_run_out()

    assert claimed(south, SOUTH) == {vault}


def test_renewed_leases_go_on_and_the_others_run_out(open_ledger: Open) -> None:
    north, south = open_ledger(lease_seconds=1.5), open_ledger()
    vaults = [add(north, f"vault{number}") for number in range(3)]
    leases = [take(north, vault) for vault in vaults]
    for _ in range(4):
        time.sleep(0.4)
        assert north.renew(leases[:2]) == set(vaults[:2])

    assert claimed(south, SOUTH) == {vaults[2]}


def test_a_lease_that_ran_out_and_that_no_host_took_can_be_renewed(open_ledger: Open) -> None:
    vault = add(open_ledger())
    lease = take(open_ledger(lease_seconds=SHORT_LEASE), vault)
    let_run_out()

    assert open_ledger().renew([lease]) == {vault}
    assert claimed(open_ledger(), SOUTH) == set()


def test_renewing_nothing_asks_nothing(ledger: Ledger) -> None:
    assert ledger.renew([]) == set()


def test_a_lease_that_was_given_back_cannot_be_used(ledger: Ledger) -> None:
    vault = add(ledger)
    lease = take(ledger, vault)
    ledger.give_back(lease, now() + HOUR)

    assert ledger.renew([lease]) == set()
    assert ledger.vault(vault).holder is None
    with pytest.raises(LeaseLost):
        ledger.give_back(lease, now())


def test_a_later_lease_shuts_out_the_earlier_holder(open_ledger: Open) -> None:
    north, south = open_ledger(lease_seconds=SHORT_LEASE), open_ledger()
    vault = add(north)
    seq = north.keep(vault, b"op", "1")
    old = take(north, vault)
    let_run_out()
    new = take(south, vault, SOUTH)

    calls: list[Callable[[], object]] = [
        lambda: north.kept(old),
        lambda: north.outcome(old, seq, b"outcome"),
        lambda: north.folded(old, seq),
        lambda: north.give_back(old, now() + HOUR),
    ]
    for call in calls:
        with pytest.raises(LeaseLost) as error:
            call()
        assert (error.value.code, error.value.exit_code) == ("lease_lost", 1)

    assert south.kept(new) == [(seq, b"op", None)]
    assert south.vault(vault).holder is not None


def test_trouble_is_counted_until_a_visit_ends_well(ledger: Ledger) -> None:
    vault = add(ledger)
    for tries in (1, 2):
        ledger.give_back(take(ledger, vault), now() + HOUR, "its home is away")
        row = ledger.vault(vault)
        assert (row.tries, row.trouble) == (tries, "its home is away")

    lease = take(ledger, vault)
    assert lease.tries == 2
    ledger.give_back(lease, now() + HOUR)

    row = ledger.vault(vault)
    assert (row.tries, row.trouble) == (0, "")


def test_a_trouble_that_quotes_a_strange_name_ends_the_lease(ledger: Ledger) -> None:
    vault = add(ledger)

    ledger.give_back(take(ledger, vault), now() + HOUR, "bad name: 'a\0\udcff'")

    row = ledger.vault(vault)
    assert (row.holder, row.tries, row.trouble) == (None, 1, "bad name: 'a?'")


def test_a_wake_makes_a_vault_due_sooner_and_never_later(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.give_back(take(ledger, vault), now() + HOUR)
    ledger.wake(vault, now() + 2 * HOUR)
    assert ledger.vault(vault).due < now() + 1.5 * HOUR

    ledger.wake(vault, now())

    assert claimed(ledger) == {vault}


def test_a_wake_during_a_visit_is_not_lost(ledger: Ledger) -> None:
    vault = add(ledger)
    lease = take(ledger, vault)
    ledger.wake(vault, now())
    ledger.give_back(lease, now() + HOUR)

    assert claimed(ledger) == {vault}


@pytest.mark.parametrize("due", [datetime.max, datetime.min])
def test_a_vault_may_be_due_never_or_always(ledger: Ledger, due: datetime) -> None:
    vault = add(ledger)
    ledger.give_back(take(ledger, vault), due.replace(tzinfo=UTC))

    assert claimed(ledger) == ({vault} if due == datetime.min else set())
    assert len(ledger.vaults()) == 1


@pytest.mark.parametrize("wrong", [-HOUR, HOUR])
def test_a_host_whose_clock_is_wrong_neither_keeps_nor_loses_a_lease(
    open_ledger: Open, wrong: timedelta
) -> None:
    """Each moment that it names counts from its own present."""

    def clock() -> datetime:
        return now() + wrong

    north, south = open_ledger(clock=clock), open_ledger()
    vault = add(north)
    lease = take(north, vault)

    assert abs(lease.until - now()) < timedelta(minutes=1)
    assert isinstance(south.take(vault, *SOUTH), Holder)

    north.give_back(lease, clock() + timedelta(minutes=10))

    assert abs(south.vault(vault).due - now()) < timedelta(minutes=11)
    assert claimed(south, SOUTH) == set()

    north.wake(vault, clock())

    assert claimed(south, SOUTH) == {vault}


# --- Acknowledged operations ---


def test_kept_operations_come_in_their_order_until_they_are_folded(ledger: Ledger) -> None:
    vault, other = add(ledger, "ann"), add(ledger, "bo")
    seqs = [ledger.keep(vault, b"op %d" % number, str(number)) for number in range(3)]
    ledger.keep(other, b"op of bo", "0")
    lease = take(ledger, vault)

    assert seqs == sorted(set(seqs))
    assert [op for _, op, _ in ledger.kept(lease)] == [b"op 0", b"op 1", b"op 2"]

    ledger.folded(lease, seqs[1])

    assert ledger.kept(lease) == [(seqs[2], b"op 2", None)]
    assert ledger.vault("bo").waiting == 1
    assert ledger.vault("ann").waiting == 1


def test_an_operation_that_is_sent_again_is_kept_once(ledger: Ledger) -> None:
    vault = add(ledger)
    seq = ledger.keep(vault, b"op", "id")

    assert ledger.keep(vault, b"op, sent again", "id") == seq

    lease = take(ledger, vault)
    assert ledger.kept(lease) == [(seq, b"op", None)]
    ledger.folded(lease, seq)

    assert ledger.keep(vault, b"op, sent again", "id") == seq
    assert ledger.kept(lease) == []


def test_two_vaults_may_have_operations_of_one_id(ledger: Ledger) -> None:
    ann, bo = add(ledger, "ann"), add(ledger, "bo")
    ledger.keep(ann, b"op of ann", "id")
    ledger.keep(bo, b"op of bo", "id")

    assert [op for _, op, _ in ledger.kept(take(ledger, bo))] == [b"op of bo"]


def test_the_outcome_of_an_operation_reaches_the_next_holder(open_ledger: Open) -> None:
    north, south = open_ledger(lease_seconds=SHORT_LEASE), open_ledger()
    vault = add(north)
    seq = north.keep(vault, b"\x00op\xff", "id")
    north.outcome(take(north, vault), seq, b"\x00outcome\xff")
    let_run_out()

    lease = take(south, vault, SOUTH)

    assert south.kept(lease) == [(seq, b"\x00op\xff", b"\x00outcome\xff")]


def test_a_kept_operation_makes_its_vault_due(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.give_back(take(ledger, vault), now() + HOUR)
    ledger.keep(vault, b"op", "id")

    assert claimed(ledger) == {vault}


def test_an_operation_kept_during_a_visit_does_not_wait_for_the_next_due_moment(
    ledger: Ledger,
) -> None:
    vault = add(ledger)
    lease = take(ledger, vault)
    ledger.keep(vault, b"op", "id")
    ledger.give_back(lease, now() + HOUR)

    assert claimed(ledger) == {vault}


def test_a_poisoned_vault_waits_for_its_back_off(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.keep(vault, b"op", "id")
    ledger.give_back(take(ledger, vault), now() + HOUR, "its journal is damaged")

    assert claimed(ledger) == set()


def test_a_forgotten_vault_has_no_operations_and_no_tokens(book: Book, ledger: Ledger) -> None:
    vault, other = add(ledger, "ann"), add(ledger, "bo")
    for owner, secret in ((vault, b"heliotrope"), (other, b"marigold")):
        seq = ledger.keep(owner, secret, "id")
        ledger.outcome(take(ledger, owner), seq, secret + b" outcome")
    ledger.set_token(vault, ANN, Caller("ann"))
    ledger.set_token(other, BO, Caller("bo"))

    ledger.forget(vault)

    assert ledger.caller(ANN) is None
    assert ledger.caller(BO) == LedgerCaller(other, Caller("bo"))
    assert ledger.vault(vault).waiting == 0
    assert ledger.vault(vault).epoch == 1
    assert b"heliotrope" not in book.text()
    assert b"marigold" in book.text()


def test_words_of_an_operation_are_gone_when_it_is_folded(book: Book, ledger: Ledger) -> None:
    vault = add(ledger)
    seq = ledger.keep(vault, b"heliotrope", "id")
    lease = take(ledger, vault)
    assert "heliotrope" not in repr(ledger.kept(lease))
    ledger.folded(lease, seq)
    traces = ledger.erase_traces()

    assert all("log" in place for place in traces)
    assert b"heliotrope" not in book.text()


# --- Tokens ---


@pytest.mark.parametrize(
    "caller",
    [
        Caller("ann"),
        Caller("ann", "#garden", ("staff", "family"), private=True),
        Caller("Ærøskøbing 🌻"),
    ],
)
def test_a_token_opens_one_vault_as_its_caller(ledger: Ledger, caller: Caller) -> None:
    vault = add(ledger)
    ledger.set_token(vault, ANN, caller)

    assert ledger.caller(ANN) == LedgerCaller(vault, caller)
    assert ledger.caller(BO) is None
    assert ledger.caller(b"") is None


def test_a_token_may_get_another_caller(ledger: Ledger) -> None:
    vault = add(ledger)
    ledger.set_token(vault, ANN, Caller("ann", private=True))
    ledger.set_token(vault, ANN, Caller("ann"))

    assert ledger.caller(ANN) == LedgerCaller(vault, Caller("ann"))


def test_a_token_never_moves_to_another_vault(ledger: Ledger) -> None:
    ann, bo = add(ledger, "ann"), add(ledger, "bo")
    ledger.set_token(ann, ANN, Caller("ann"))

    with pytest.raises(TokenTaken):
        ledger.set_token(bo, ANN, Caller("bo"))

    assert ledger.caller(ANN) == LedgerCaller(ann, Caller("ann"))


def test_dropped_tokens_open_nothing(ledger: Ledger) -> None:
    ann, bo = add(ledger, "ann"), add(ledger, "bo")
    ledger.set_token(ann, ANN, Caller("ann"))
    ledger.set_token(bo, BO, Caller("bo"))

    ledger.drop_tokens(ann)

    assert ledger.caller(ANN) is None
    assert ledger.caller(BO) is not None


# --- Hosts ---


def test_hosts_are_listed_with_their_address_and_their_leases(open_ledger: Open) -> None:
    north, south = open_ledger(), open_ledger()
    vault = add(north)
    assert north.hosts() == []
    take(north, vault)
    south.claim(*SOUTH, 1)

    [first, second] = south.hosts()

    assert (first.name, first.address, first.leases) == (*NORTH, 1)
    assert (second.name, second.address, second.leases) == (*SOUTH, 0)
    assert 0 <= first.silent_seconds < 60
    assert not first.draining


def test_a_host_with_a_new_address_is_listed_with_that(open_ledger: Open) -> None:
    open_ledger().claim("north", "http://10.0.0.1:7777", 1)
    open_ledger().claim("north", "http://10.0.0.9:7777", 1)

    [host] = open_ledger().hosts()

    assert host.address == "http://10.0.0.9:7777"


def test_a_draining_host_claims_nothing_until_it_may_again(open_ledger: Open) -> None:
    north, south = open_ledger(), open_ledger()
    vault = add(north)
    lease = take(north, vault)
    south.set_draining("north", True)

    assert north.draining("north")
    assert not north.draining("south")
    assert north.renew([lease]) == {vault}, "what it holds it finishes"
    north.give_back(lease, now())
    assert claimed(north) == set()

    north.set_draining("north", False)

    assert claimed(north) == {vault}


def test_each_host_that_had_the_vault_is_asked_to_erase_its_copy(open_ledger: Open) -> None:
    ledger = open_ledger()
    vault, other = add(ledger, "ann"), add(ledger, "bo")
    ledger.give_back(take(ledger, vault, NORTH), now())
    ledger.give_back(take(ledger, other, NORTH), now() + HOUR)
    [lease] = ledger.claim(*SOUTH, 5)
    ledger.give_back(lease, now())
    assert ledger.scratches(vault) == ["north", "south"]
    assert ledger.to_erase("north") == []

    ledger.ask_to_erase(vault)

    assert ledger.to_erase("north") == [vault]
    ledger.erased(vault, "north")
    assert ledger.to_erase("north") == []
    assert ledger.scratches(vault) == ["south"]
    assert ledger.scratches(other) == ["north"]


def test_errors_of_a_ledger_say_what_to_do(ledger: Ledger) -> None:
    for call in (lambda: ledger.vault("bo"), lambda: ledger.add("x", "bo", "s3://b")):
        with pytest.raises(VaultMemoryError) as error:
            call()
        assert error.value.hint
