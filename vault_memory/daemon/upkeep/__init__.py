"""Upkeep of one vault: each module does one kind of work in the turns of the loop."""
