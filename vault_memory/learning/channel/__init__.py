"""What is learned in channels: for the channel, and for each person who speaks in it."""
