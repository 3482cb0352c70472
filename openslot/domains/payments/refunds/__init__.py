"""How much of a payment is given back."""
