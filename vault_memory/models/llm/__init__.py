"""Language models: decide what in a conversation is worth remembering."""
