"""The longer statements of a ledger in SQLite, and what their rows mean."""

from datetime import UTC, datetime
from typing import Any

from vault_memory.addons.fleet.ledger.contract import Holder, LedgerHost, LedgerVault

VAULTS = """
    SELECT vault.id, vault.name, vault.home, vault.epoch, vault.due,
        vault.holder, vault.address, vault.until, vault.until - unixepoch('subsec'),
        vault.tries, vault.trouble,
        (SELECT count(*) FROM kept WHERE kept.vault = vault.id AND folded_at IS NULL)
    FROM vault
"""

COUNTS = """
    SELECT count(*),
        count(*) FILTER (WHERE until > unixepoch('subsec')),
        count(*) FILTER (WHERE max(due, until) <= unixepoch('subsec')),
        count(*) FILTER (WHERE tries > 0),
        (SELECT count(*) FROM kept WHERE folded_at IS NULL)
    FROM vault
"""

# `woken` remembers a wake during a lease, which the end of the lease must not postpone.
WAKE = """
    UPDATE vault SET
        due = min(due, unixepoch('subsec') + ?1),
        woken = min(ifnull(woken, 1e11), unixepoch('subsec') + ?1)
    WHERE id = ?2
    RETURNING id
"""

IS_CLAIMABLE = """
    SELECT 1 FROM vault
    WHERE max(due, until) <= unixepoch('subsec')
        AND NOT EXISTS (SELECT 1 FROM host WHERE name = ? AND draining)
    LIMIT 1
"""

# A leased vault is due at once: if its holder dies, the next one looks at it.
CLAIM = """
    UPDATE vault SET
        holder = ?1,
        address = ?2,
        epoch = epoch + 1,
        until = unixepoch('subsec') + ?3,
        due = unixepoch('subsec'),
        woken = NULL
    WHERE id IN (
        SELECT id FROM vault
        WHERE max(due, until) <= unixepoch('subsec')
            AND NOT EXISTS (SELECT 1 FROM host WHERE name = ?4 AND draining)
        ORDER BY max(due, until)
        LIMIT ?5)
    RETURNING id, name, home, epoch, until, tries
"""

TAKE = """
    UPDATE vault SET
        holder = ?1,
        address = ?2,
        epoch = epoch + 1,
        until = unixepoch('subsec') + ?3,
        due = unixepoch('subsec'),
        woken = NULL
    WHERE id = ?4 AND until <= unixepoch('subsec')
    RETURNING id, name, home, epoch, until, tries
"""

ADD_SCRATCH = "INSERT INTO scratch(vault, host) VALUES (?, ?) ON CONFLICT DO NOTHING"

HOLDER = """
    SELECT holder, address, until, until - unixepoch('subsec') FROM vault WHERE id = ?
"""

RENEW = """
    UPDATE vault SET until = unixepoch('subsec') + ?1
    FROM (
        SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS epoch
        FROM json_each(?2)) AS lease
    WHERE vault.id = lease.id AND vault.epoch = lease.epoch AND vault.holder IS NOT NULL
    RETURNING vault.id, vault.holder
"""

# Fault: an operation that was acknowledged during the visit must not wait for the next
# due moment. After trouble it waits, so that a poisoned vault does not come at once.
GIVE_BACK = """
    UPDATE vault SET
        holder = NULL,
        address = '',
        until = 0,
        due = CASE
            WHEN :trouble = '' AND EXISTS (
                SELECT 1 FROM kept WHERE kept.vault = vault.id AND folded_at IS NULL)
            THEN unixepoch('subsec')
            ELSE min(unixepoch('subsec') + :seconds, ifnull(woken, 1e11))
        END,
        woken = NULL,
        tries = CASE WHEN :trouble = '' THEN 0 ELSE tries + 1 END,
        trouble = :trouble
    WHERE id = :vault AND epoch = :epoch AND holder IS NOT NULL
    RETURNING id
"""

NEXT_SEQ = """
    UPDATE vault SET
        last_seq = last_seq + 1,
        due = min(due, unixepoch('subsec'))
    WHERE id = ?
    RETURNING last_seq
"""

KEPT = """
    SELECT seq, op, outcome FROM kept
    WHERE vault = ? AND folded_at IS NULL
    ORDER BY seq
"""

CURRENT_LEASE = """
    SELECT 1 FROM vault WHERE id = ? AND epoch = ? AND holder IS NOT NULL
"""

# Fault: a client repeats a request whose answer was lost. The id of the operation must
# be known for a while, without its words.
FOLDED = """
    UPDATE kept SET op = NULL, outcome = NULL, folded_at = unixepoch('subsec')
    WHERE vault = ? AND seq <= ? AND folded_at IS NULL
"""

DROP_TOMBSTONES = """
    DELETE FROM kept WHERE vault = ? AND folded_at < unixepoch('subsec') - ?
"""

SET_TOKEN = """
    INSERT INTO token(hash, vault, caller) VALUES (?, ?, ?)
    ON CONFLICT(hash) DO UPDATE SET caller = excluded.caller
        WHERE token.vault = excluded.vault
    RETURNING hash
"""

NOTE_HOST = """
    INSERT INTO host(name, address, seen) VALUES (?, ?, unixepoch('subsec'))
    ON CONFLICT(name) DO UPDATE SET address = excluded.address, seen = excluded.seen
"""

SET_DRAINING = """
    INSERT INTO host(name, draining, seen) VALUES (?, ?, unixepoch('subsec'))
    ON CONFLICT(name) DO UPDATE SET draining = excluded.draining
"""

HOSTS = """
    SELECT name, address, seen, unixepoch('subsec') - seen, draining,
        (SELECT count(*) FROM vault
            WHERE holder = host.name AND until > unixepoch('subsec'))
    FROM host
    WHERE seen > unixepoch('subsec') - ?
    ORDER BY name
"""


def moment(seconds: float) -> datetime:
    """Return the moment of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def holder_of(host: str, address: str, until: float, seconds: float) -> Holder:
    """Return the holder of a row."""
    return Holder(host, address, moment(until), seconds)


def listed_vault(row: tuple[Any, ...]) -> LedgerVault:
    """Return the vault of a row of `VAULTS`."""
    vault, name, home, epoch, due, host, address, until, seconds, *state = row
    holder = None
    if host is not None and seconds > 0:
        holder = holder_of(host, address, until, seconds)
    tries, trouble, waiting = state
    return LedgerVault(
        id=vault,
        name=name,
        home=home,
        epoch=epoch,
        due=moment(due),
        holder=holder,
        tries=tries,
        trouble=trouble,
        waiting=waiting,
    )


def listed_host(row: tuple[Any, ...]) -> LedgerHost:
    """Return the host of a row of `HOSTS`."""
    name, address, seen, silent_seconds, draining, leases = row
    return LedgerHost(
        name=name,
        address=address,
        seen=moment(seen),
        silent_seconds=silent_seconds,
        draining=bool(draining),
        leases=leases,
    )
