"""Rules of search: tokens, query features, scores."""
