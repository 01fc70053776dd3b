"""The processes of the air-quality model, one file each; `airshed.process` says what one is and finds them here."""
