"""Finds the lines of the vault that answer a query."""
