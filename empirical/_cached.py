"""Attributes that are computed once, whichever threads ask for them."""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """That of `functools`, without the lock that Python 3.11 holds there.

        The lock is one for all instances: a thread waits for whatever another computes,
        and of two that need each other's neither would go on. Here both compute it.
        """

        def __get__(self, instance, owner=None):
            """Compute the value and keep it in the place of this."""
            if instance is None:
                return self
            value = vars(instance)[self.attrname] = self.func(instance)
            return value
