"""Setting a vault up in a browser: its layout, search by meaning, and commands for the rest."""
