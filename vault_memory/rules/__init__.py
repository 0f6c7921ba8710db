"""The rules of a bot's memory. Pure: no files, no clocks."""
