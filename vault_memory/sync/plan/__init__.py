"""Decides what each path needs. Pure."""
