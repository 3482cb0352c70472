"""What every message provider promises."""
