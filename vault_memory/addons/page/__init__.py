"""The page: see, correct and take back in a browser what the bot remembers."""
