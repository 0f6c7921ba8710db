"""Changes of the vault, for clients that wait for the next one."""
