"""Rules of a prompt's context: order, quoting, and which text is an instruction."""
