"""Tests that read clocks: `make test-timing` runs them in one process, where nothing else runs."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # the modules beside the tests
