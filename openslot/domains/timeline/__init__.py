"""What is done because of bookings, as hosts see it: how each effect stands, and which ones need attention."""
