"""The memory tool of a model: files below /memories, mapped to the notes of one person."""
