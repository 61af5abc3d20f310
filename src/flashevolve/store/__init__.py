"""One durable run: the event log and what is folded from it."""

from flashevolve.store.lock import RunLock
from flashevolve.store.reader import StoreReader
from flashevolve.store.writer import StoreWriter

__all__ = ["RunLock", "StoreReader", "StoreWriter"]
