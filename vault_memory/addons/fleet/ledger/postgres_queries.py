"""The statements of a ledger in PostgreSQL, and what their rows mean.

Each statement is a transaction of its own. Each that needs a lease locks the row of the vault
against a new lease, so that an earlier holder changes nothing after it.
"""

from typing import Any

from vault_memory.addons.fleet.ledger.contract import Holder, Lease, LedgerHost, LedgerVault

ADD = """
    INSERT INTO vault_memory.vault(id, name, home) VALUES (%s, %s, %s)
    ON CONFLICT DO NOTHING
    RETURNING 1
"""

_VAULTS = """
    SELECT id::text, name, home, epoch, due, holder, address, until,
        extract(epoch FROM until - now())::float8, tries, trouble,
        (SELECT count(*) FROM vault_memory.kept
            WHERE kept.vault = vault.id AND folded_at IS NULL)
    FROM vault_memory.vault
"""
ALL_VAULTS = f'{_VAULTS} ORDER BY name COLLATE "C"'
VAULT = f"{_VAULTS} WHERE id = %s OR name = %s"

COUNTS = """
    SELECT count(*),
        count(*) FILTER (WHERE until > now()),
        count(*) FILTER (WHERE greatest(due, until) <= now()),
        count(*) FILTER (WHERE tries > 0),
        (SELECT count(*) FROM vault_memory.kept WHERE folded_at IS NULL)
    FROM vault_memory.vault
"""

# `woken` remembers a wake during a lease, which the end of the lease must not postpone.
WAKE = """
    WITH wish AS (SELECT now() + make_interval(secs => %s) AS moment)
    UPDATE vault_memory.vault SET
        due = least(due, wish.moment),
        woken = least(woken, wish.moment)
    FROM wish
    WHERE id = %s
    RETURNING 1
"""

FORGET = """
    WITH owner AS (
        SELECT id FROM vault_memory.vault WHERE id = %s),
    operations AS (
        DELETE FROM vault_memory.kept USING owner WHERE kept.vault = owner.id),
    tokens AS (
        DELETE FROM vault_memory.token USING owner WHERE token.vault = owner.id)
    SELECT 1 FROM owner
"""

# A leased vault is due at once: if its holder dies, the next one looks at it.
_LEASE = """
    UPDATE vault_memory.vault SET
        holder = %(host)s,
        address = %(address)s,
        epoch = epoch + 1,
        until = now() + make_interval(secs => %(seconds)s),
        due = now(),
        woken = NULL
"""
_NOTE_SCRATCH = """
    RETURNING id, name, home, epoch, until, tries),
    noted AS (
        INSERT INTO vault_memory.scratch(vault, host) SELECT id, %(host)s FROM leased
        ON CONFLICT DO NOTHING)
    SELECT id::text, home, epoch, until, name, tries FROM leased
"""

# The limit is a number in the text and the ids are an array: with a parameter or a join
# the planner expects a tenth of the table, and may read all of it.
_CLAIM = f"""
    WITH leased AS ({_LEASE}
    WHERE id = ANY(ARRAY(
        SELECT id FROM vault_memory.vault
        WHERE greatest(due, until) <= now()
            AND NOT EXISTS (
                SELECT 1 FROM vault_memory.host WHERE name = %(host)s AND draining)
        ORDER BY greatest(due, until)
        LIMIT {{most}}
        FOR UPDATE SKIP LOCKED))
    {_NOTE_SCRATCH}
"""

TAKE = f"""
    WITH leased AS ({_LEASE}
    WHERE id = %(vault)s AND until <= now()
    {_NOTE_SCRATCH}
"""

HOLDER = """
    SELECT holder, address, until, extract(epoch FROM until - now())::float8
    FROM vault_memory.vault
    WHERE id = %s
"""

RENEW = """
    WITH renewed AS (
        UPDATE vault_memory.vault SET until = now() + make_interval(secs => %s)
        FROM unnest(%s::uuid[], %s::bigint[]) AS lease(id, epoch)
        WHERE vault.id = lease.id
            AND vault.epoch = lease.epoch
            AND vault.holder IS NOT NULL
        RETURNING vault.id, vault.holder),
    noted AS (
        UPDATE vault_memory.host SET seen = now()
        WHERE name IN (SELECT holder FROM renewed))
    SELECT id::text FROM renewed
"""

# Fault: an operation that was acknowledged during the visit must not wait for the next
# due moment. After trouble it waits, so that a poisoned vault does not come at once.
GIVE_BACK = """
    UPDATE vault_memory.vault SET
        holder = NULL,
        address = '',
        until = 'epoch',
        due = CASE
            WHEN %(trouble)s::text = '' AND EXISTS (
                SELECT 1 FROM vault_memory.kept
                WHERE kept.vault = vault.id AND folded_at IS NULL)
            THEN now()
            ELSE least(now() + make_interval(secs => %(seconds)s), woken)
        END,
        woken = NULL,
        tries = CASE WHEN %(trouble)s::text = '' THEN 0 ELSE tries + 1 END,
        trouble = %(trouble)s::text
    WHERE id = %(vault)s AND epoch = %(epoch)s AND holder IS NOT NULL
    RETURNING 1
"""

# Fault: with a sequence, a lower number may commit after a higher one, and `folded` would
# remove an operation that its holder never saw. The row of the vault gives the number: it
# is locked until the commit.
KEEP = """
    WITH number AS (
        UPDATE vault_memory.vault SET
            last_seq = last_seq + 1,
            due = least(due, now())
        WHERE id = %(vault)s
            AND (%(epoch)s::bigint IS NULL OR epoch = %(epoch)s AND holder IS NOT NULL)
        RETURNING id, last_seq)
    INSERT INTO vault_memory.kept(vault, seq, op_id, op)
    SELECT id, last_seq, %(op_id)s, %(op)s FROM number
    ON CONFLICT (vault, op_id) DO NOTHING
    RETURNING seq
"""

SEQ = "SELECT seq FROM vault_memory.kept WHERE vault = %s AND op_id = %s"

KEPT = """
    SELECT kept.seq, kept.op, kept.outcome
    FROM vault_memory.vault
    LEFT JOIN vault_memory.kept ON kept.vault = vault.id AND kept.folded_at IS NULL
    WHERE vault.id = %s AND vault.epoch = %s AND vault.holder IS NOT NULL
    ORDER BY kept.seq
"""

_CURRENT = """
    WITH current AS (
        SELECT id FROM vault_memory.vault
        WHERE id = %(vault)s AND epoch = %(epoch)s AND holder IS NOT NULL
        FOR SHARE)
"""

OUTCOME = f"""
    {_CURRENT},
    noted AS (
        UPDATE vault_memory.kept SET outcome = %(outcome)s
        FROM current
        WHERE vault = current.id AND seq = %(seq)s AND folded_at IS NULL)
    SELECT 1 FROM current
"""

# Fault: a client repeats a request whose answer was lost. The id of the operation must
# be known for a while, without its words.
FOLDED = f"""
    {_CURRENT},
    emptied AS (
        UPDATE vault_memory.kept SET op = NULL, outcome = NULL, folded_at = now()
        FROM current
        WHERE vault = current.id AND seq <= %(seq)s AND folded_at IS NULL),
    dropped AS (
        DELETE FROM vault_memory.kept
        USING current
        WHERE vault = current.id
            AND folded_at < now() - make_interval(secs => %(tombstone)s))
    SELECT 1 FROM current
"""

CALLER = "SELECT vault::text, caller FROM vault_memory.token WHERE hash = %s"

SET_TOKEN = """
    INSERT INTO vault_memory.token(hash, vault, caller) VALUES (%s, %s, %s)
    ON CONFLICT (hash) DO UPDATE SET caller = excluded.caller
        WHERE token.vault = excluded.vault
    RETURNING 1
"""

DROP_TOKENS = """
    WITH owner AS (
        SELECT id FROM vault_memory.vault WHERE id = %s),
    tokens AS (
        DELETE FROM vault_memory.token USING owner WHERE token.vault = owner.id)
    SELECT 1 FROM owner
"""

NOTE_HOST = """
    INSERT INTO vault_memory.host(name, address) VALUES (%s, %s)
    ON CONFLICT (name) DO UPDATE SET address = excluded.address, seen = now()
"""

HOSTS = """
    SELECT name, host.address, seen, extract(epoch FROM now() - seen)::float8, draining,
        (SELECT count(*) FROM vault_memory.vault
            WHERE holder = host.name AND until > now())
    FROM vault_memory.host
    WHERE seen > now() - make_interval(secs => %s)
    ORDER BY name COLLATE "C"
"""

SET_DRAINING = """
    INSERT INTO vault_memory.host(name, draining) VALUES (%s, %s)
    ON CONFLICT (name) DO UPDATE SET draining = excluded.draining
"""

DRAINING = "SELECT 1 FROM vault_memory.host WHERE name = %s AND draining"

SCRATCHES = """
    SELECT host FROM vault_memory.scratch WHERE vault = %s ORDER BY host COLLATE "C"
"""

ASK_TO_ERASE = "UPDATE vault_memory.scratch SET erase = true WHERE vault = %s"

TO_ERASE = """
    SELECT vault::text FROM vault_memory.scratch WHERE host = %s AND erase ORDER BY vault
"""

ERASED = "DELETE FROM vault_memory.scratch WHERE vault = %s AND host = %s"


def claim(most: int) -> str:
    """Return the statement that leases up to `most` vaults."""
    return _CLAIM.format(most=max(0, int(most)))


def leased(row: tuple[Any, ...]) -> Lease:
    """Return the lease of a row of a claim or of `TAKE`."""
    return Lease(*row)


def listed_vault(row: tuple[Any, ...]) -> LedgerVault:
    """Return the vault of a row of `VAULT`."""
    vault, name, home, epoch, due, host, address, until, seconds, *state = row
    holder = None
    if host is not None and seconds > 0:
        holder = Holder(host, address, until, seconds)
    tries, trouble, waiting = state
    return LedgerVault(
        id=vault,
        name=name,
        home=home,
        epoch=epoch,
        due=due,
        holder=holder,
        tries=tries,
        trouble=trouble,
        waiting=waiting,
    )


def listed_host(row: tuple[Any, ...]) -> LedgerHost:
    """Return the host of a row of `HOSTS`."""
    return LedgerHost(*row)
