"""What is left behind by holds that were not booked."""
