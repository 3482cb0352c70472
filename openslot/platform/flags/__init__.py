"""Feature flags and the kill switch: parts of the product, and outgoing messages, that an operator can switch off."""
