"""What a person or a program looks up about an index, apart from search."""
