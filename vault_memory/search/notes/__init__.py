"""Notes by their names, and the links between them."""
