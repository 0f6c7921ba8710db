"""The write policy within a learning cycle: judging, holding back, committing."""
