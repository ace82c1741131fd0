"""Tests of training/. From the project's root, with the recipes' Python:

  build/training-python/bin/python -m unittest discover -s tests/training -t .
"""
