"""The processes of the air-quality model, a file or a folder each; `airshed.process` says what one is and finds them here."""
