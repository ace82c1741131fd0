"""Recipes that train the models Banyan ships, and yours.

Run `python -m training --help` from the project's root.
"""
