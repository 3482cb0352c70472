"""What bookings cost that people make whom nobody knows."""
