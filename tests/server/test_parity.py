"""HTTP has what Python has: its operations are complete."""

from tools import parity


def test_every_public_method_has_a_route_or_a_reason() -> None:
    methods = set(parity.list_methods())
    routes = {it.verb for it in parity.OPERATIONS} | parity.WRITTEN_OUT.keys()
    assert len(methods) > 90
    assert methods - routes == parity.WITHOUT_ROUTE.keys()
    assert routes <= methods
