"""A bot's memory as a folder of Markdown that people edit by hand."""
