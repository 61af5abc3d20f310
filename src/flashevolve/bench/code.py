"""Code: which sources a row was made with.

A package's version stays the same while its sources change, so that rows of two states of them
would stand in one table unnoticed. The digest is that of every file of the package, documents,
tests and compiled files excluded.
"""

import hashlib
from functools import cache
from pathlib import Path

import flashevolve

PACKAGE = Path(flashevolve.__file__).parent
COMPILED = {".pyc", ".pyo"}


@cache
def code_digest(package: Path = PACKAGE) -> str:
    """Returns a digest of the package's files, by path and content."""
    found = hashlib.blake2b(digest_size=6)
    for path in sorted(package.rglob("*"), key=lambda p: p.relative_to(package).as_posix()):
        if path.is_file() and path.suffix not in COMPILED:
            content = path.read_bytes()
            found.update(f"{path.relative_to(package).as_posix()}\0{len(content)}\0".encode())
            found.update(content)
    return found.hexdigest()
