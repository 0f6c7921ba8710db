"""The step of the night that settles contradictions in the notes of a scope."""
