"""A message gateway of the operator."""
