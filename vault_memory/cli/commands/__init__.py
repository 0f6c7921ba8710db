"""One module for each group of commands; each is imported when it is run."""
