"""Takes texts out of everything that is kept, and checks that nothing is left."""
