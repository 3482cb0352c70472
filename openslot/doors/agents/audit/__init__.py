"""The chained log of agents' calls."""
