"""What several areas of the pages share."""
