"""Demo data: people and things worth looking at on a first start."""
