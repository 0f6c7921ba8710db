"""Rules of paths: what a path means, which names are safe, which scope a note belongs to."""
