"""The tools themselves, on real data."""
