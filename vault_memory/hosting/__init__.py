"""One process that serves many vaults, each opened when it is asked for, due or changed."""
