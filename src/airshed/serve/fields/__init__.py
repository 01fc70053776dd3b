"""Fields as clients see them: published copies, files and maps."""
