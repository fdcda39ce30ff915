"""The tests of this folder start processes, and may share the modules beside them."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "cli")]
