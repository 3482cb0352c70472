"""Nouns and verbs: what is booked, by whom, when, and what follows from it."""
