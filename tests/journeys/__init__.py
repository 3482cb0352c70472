"""Long ways through the whole service, as its users go them."""
