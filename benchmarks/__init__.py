"""What is measured and compared, and the pages made of it; each module that is run is run as `python -m MODULE`."""
