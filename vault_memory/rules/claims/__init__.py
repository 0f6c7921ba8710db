"""Whether two sentences say the same, contradict or carry each other, with one set of word tables."""
