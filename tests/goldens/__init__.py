"""Stored answers of the whole product: a change that means to change nothing must reproduce them.

`make goldens` writes them again, when an answer changes on purpose.
"""
