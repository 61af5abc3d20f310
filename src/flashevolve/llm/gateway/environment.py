"""Environment: what a child process of user code inherits, without keys, passwords and detours.

Left out is what is named like a secret, what holds a configured key whatever its name, and an
address with a password in it. A proxy's stays: without it the child has no network. Names are
judged more strictly than fields of a request, since nothing of ours is lost with a variable.
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping

from flashevolve.llm.secrets import MIN_SECRET_CHARS, holds_secret

_NAMES = re.compile(
    r"(^|_)(API)?(KEYS?|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PAT|CREDENTIALS?)\d*(_|$)"
    r"|PASSWORD\d*$|APIKEY\d*$|PASS$|.[_]PWD$"
)
_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s@:]*:[^/\s@]+@", re.IGNORECASE)
_PROXY = re.compile(r"_proxy$", re.IGNORECASE)
_OF_THE_SHELL = frozenset({"PWD", "OLDPWD"})
_LOOPBACK = ("127.0.0.1", "localhost")


def child_environment(environ: Mapping[str, str], key_envs: Iterable[str]) -> dict[str, str]:
    """Returns what a child may know of an environment; `key_envs` are the variables of our keys."""
    names = frozenset(key_envs)
    keys = [k for name in names if len(k := environ.get(name, "").strip()) >= MIN_SECRET_CHARS]
    kept = {
        name: value
        for name, value in environ.items()
        if name not in names
        and not _is_secret(name, value)
        and not any(key in value for key in keys)
    }
    return {**kept, **no_proxy(environ)}


def no_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that keep clients from asking a proxy for this machine."""
    # Who reads both lets the small one win.
    named = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    hosts = [host.strip() for host in named.split(",") if host.strip()]
    if "*" not in hosts:
        hosts += [host for host in _LOOPBACK if host not in hosts]
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(hosts))


def exempt_loopback(environ: MutableMapping[str, str]) -> None:
    """Has clients of this process reach the gateway directly, if a proxy is configured.

    Without one nothing is set: a lone `no_proxy` would hide the system's proxies on some machines.
    """
    if any(_PROXY.search(name) and name.lower() != "no_proxy" for name in environ):
        environ.update(no_proxy(environ))


def _is_secret(name: str, value: str) -> bool:
    if name in _OF_THE_SHELL:
        return False
    if holds_secret(name) or _NAMES.search(name.upper()):
        return True
    return bool(_WITH_PASSWORD.search(value)) and not _PROXY.search(name)
