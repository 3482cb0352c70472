"""The REST API's documentation as a page, generated from what its handlers declare."""
