"""Audit records on the page: which ones a session may see, how they read, and which are new."""
