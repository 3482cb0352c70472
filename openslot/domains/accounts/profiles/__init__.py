"""What a host shows of themselves: name, address, picture, colors."""
