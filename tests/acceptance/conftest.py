"""The tests of this folder start processes, and may share the modules beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
