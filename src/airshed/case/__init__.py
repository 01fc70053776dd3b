"""The case file of any model: how it is read, checked and shown, and the settings that each of them has."""
