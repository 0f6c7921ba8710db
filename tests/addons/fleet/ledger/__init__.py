"""Tests of the ledger: one contract suite for SQLite and PostgreSQL."""
