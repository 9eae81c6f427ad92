"""Fits of rows that live on a GPU: checked against the CPU, and timed."""
