"""Lists of bookings."""
