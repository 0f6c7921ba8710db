"""Sums conversations up: one episode for each that is worth it."""
