"""Base of point models: independent cells with processes of kind `update`."""
