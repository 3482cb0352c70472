"""The REST API's documentation as a page, made from what its handlers declare."""
