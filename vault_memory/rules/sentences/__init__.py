"""Cuts a text into sentences, and says how a sentence ends."""
