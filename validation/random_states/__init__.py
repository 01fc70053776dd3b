"""Chemistry from thousands of random states: does any method get stuck, and is any result wrong?"""
