"""Facts about people and things: the calls that read and change them."""
