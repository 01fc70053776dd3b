"""Models of points: cells without neighbours, whose processes are of kind `update`; what they all share."""
