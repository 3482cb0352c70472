"""The database's schema: the baseline of 0.2.0, what came later, and in a folder the way there from 0.1.0."""
