"""Add-ons: rooms that the core does not need. Nothing outside an add-on imports it."""
