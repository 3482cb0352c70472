"""What is taken and not confirmed."""
