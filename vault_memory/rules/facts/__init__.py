"""Rules of facts: their lines, entities, and what follows from them."""
