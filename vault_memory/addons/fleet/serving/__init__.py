"""The process of a host of a fleet: it holds vaults, answers requests, and passes others on."""
