"""Hosts: whose machine a URL points at, by its name alone; nothing is looked up."""

import ipaddress


def is_local(host: str) -> bool:
    """True for this machine and private networks; a server there may pass on what is sent to it.

    A name without a dot (a container, a machine in the same rack) cannot be a public one.
    """
    host = host.lower().strip("[]").rstrip(".")
    if not host:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local"))
    return address.is_private or address.is_loopback
