"""Three-way merge of notes: two versions of one note become one, and no word of either is lost."""
