"""What every floor stands on; knows no domain."""
