"""One verb, many doors: the same assertions through each."""
