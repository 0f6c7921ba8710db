"""Notes as the page shows them: their items with authors, their versions, and how they are saved."""
