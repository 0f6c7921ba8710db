"""Starts the MCP server with the words of the manifest."""

from vault_memory.cli import main

main()
