"""Forks: objects that begin anew in a child process what can't be shared with its parent.

A socket that two processes read gives each of them half of the other's answers; a thread does not
exist in the child; and a lock that another thread held at the fork is never released there.
"""

import os
from collections.abc import Callable
from weakref import WeakMethod

_renewals: set["WeakMethod[Callable[[], None]]"] = set()


def renew_in_child(renew: Callable[[], None]) -> None:
    """Call a bound method in every process forked from this one, while its object lives.

    The method must only replace things: it can't wait for a lock, nor close what the parent uses.
    """
    # Without a callback: at the end of the program a `WeakMethod` with one prints a traceback.
    _renewals.add(WeakMethod(renew))
    for reference in list(_renewals):
        if reference() is None:
            _renewals.discard(reference)


def _renew_all() -> None:
    for reference in list(_renewals):
        renew = reference()
        if renew is not None:
            renew()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_renew_all)
