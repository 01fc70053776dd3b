"""Base of models of points: cells without neighbours, whose processes are of kind `update`."""
