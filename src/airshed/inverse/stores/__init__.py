"""Stores of checkpoints: in memory or in files, exact or rounded, synchronous or asynchronous."""
