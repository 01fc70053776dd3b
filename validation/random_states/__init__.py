"""Chemistry from thousands of random states: methods that get stuck, and wrong results."""
