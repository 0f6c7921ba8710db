"""Facts on the page: how they read, and the calls that a session may make on them."""
