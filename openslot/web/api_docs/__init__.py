"""The REST API's documentation as a page, made from its OpenAPI description."""
