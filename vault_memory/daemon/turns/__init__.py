"""Background work of one vault: each module makes one turn, and says when the next is due."""
