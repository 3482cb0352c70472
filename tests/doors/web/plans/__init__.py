"""The pages of plans that are paid for."""
