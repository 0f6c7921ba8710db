"""What a model adds at night: names and types of entities."""
