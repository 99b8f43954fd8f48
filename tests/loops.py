"""Coroutines of tests that are not coroutines themselves."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def outcome(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine. It runs in a separate thread, because browser tests leave a loop running in
    that of the tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
