"""What everything else stands on: it knows no domain, no vendor and no door."""
