"""External calendars: their busy times, and the bookings that are written into them."""
