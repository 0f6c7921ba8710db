"""The nightly work for items that fade: folding reads, purging."""
