"""The views of the page, one module each: from a request to plain data, without HTML."""
