"""The pages of a host: many vaults behind one address, and a session opens one of them."""
