"""Attributes that are computed once, whichever threads ask for them."""

import functools
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """That of `functools`, without the lock that Python 3.11 holds there.

    The lock is one for all instances: of two threads, each in such an attribute and in
    need of the other's, neither would go on. Here both compute what they need. A value
    that `super` asks for is a part of another one of its name, and is not kept.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(
        self, instance: object | None, owner: type[Any] | None = None
    ) -> Self | T:
        """Compute the value and keep it in the place of this."""
        if instance is None:
            return self
        name, value = str(self.attrname), self.func(instance)
        if getattr(type(instance), name) is self:
            vars(instance)[name] = value
        return value
