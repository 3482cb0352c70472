"""Golden answers: what the service says to many requests, so that a change of an answer is a choice."""
