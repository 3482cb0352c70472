"""Who comes in: each door authenticates, reads arguments, and calls one verb."""
