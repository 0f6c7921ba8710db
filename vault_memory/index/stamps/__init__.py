"""The stamps of items: what their fading follows from."""
