"""Takes in what other systems know, and writes out everything that is known."""
