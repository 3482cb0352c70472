"""What the outside world answers."""
