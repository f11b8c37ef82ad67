"""How calls of this package fail. Each message is one sentence: what was wrong, where, and what would be right.

What a kernel did wrong is no error: it is a Verdict, and a normal outcome.
"""


class Error(Exception):
    """Base of all errors of this package."""


class BadInput(Error):
    """The caller asked for something that kq does not accept; nothing of it was done."""


class BadSource(BadInput):
    """The text of a kernel cannot be one: empty, too long, or with NUL bytes. To a learner it is worth 0."""


class BrokerUnreachable(Error):
    """The broker did not answer in time, or in words this version does not understand. Asking again does no harm."""


class GaveUp(Error):
    """The time of a wait is over; the jobs go on."""
