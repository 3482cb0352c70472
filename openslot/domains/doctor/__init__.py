"""What is wrong with this installation, and how to fix it."""
