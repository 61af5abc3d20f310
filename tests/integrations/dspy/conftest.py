"""What tests of DSPy's users share."""

from collections.abc import Iterator

import pytest

from tests.fakes.endpoint import Endpoint
from tests.integrations.dspy import fakes


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(fakes.replying) as serving:
        yield serving
