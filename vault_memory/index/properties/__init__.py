"""Stores what people wrote about notes, and answers questions on it."""
