"""The case file of any model: reading, validation, display, patches, and the settings that all models share."""
