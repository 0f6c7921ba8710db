"""The ledger of many vaults: which vaults exist, when each is due, and which host holds it."""
