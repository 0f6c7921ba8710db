"""How fast, how small, how well: measured, never tested. `make bench` prints the table."""
