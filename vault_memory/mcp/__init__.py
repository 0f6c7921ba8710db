"""MCP: tools and resources for a model, over standard input and output or over HTTP."""
