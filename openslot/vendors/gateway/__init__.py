"""A message gateway: an HTTP service that the operator runs, with signed requests in both directions."""
