"""Rules of the write policy: secrets, withdrawals and held candidates. Pure."""
