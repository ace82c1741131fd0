"""The one exception that a user is meant to see: a sentence, no traceback."""


class UserError(Exception):
    pass
