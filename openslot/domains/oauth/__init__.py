"""Access to people's accounts at other services, which they allow there and can end there."""
