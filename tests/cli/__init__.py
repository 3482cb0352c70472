"""The operator's terminal, as an operator uses it."""
