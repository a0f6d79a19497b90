"""Measurements: interleaved comparisons, their statistics and their reports."""
