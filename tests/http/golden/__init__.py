"""Golden answers: what the service says to a few thousand requests, so that a change of an answer is a choice."""
