"""Rules that hold for every route of the web door."""
