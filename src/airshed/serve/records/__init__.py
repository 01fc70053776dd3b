"""Recorded hours: of a live session, of a finished run, and of a site of files."""
