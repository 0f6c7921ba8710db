"""A worker that answers what no worker does."""

print("{no json")
