"""What an MCP client shows its person: prompts to choose from, and questions within a call."""
