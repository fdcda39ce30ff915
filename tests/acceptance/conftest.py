"""The tests of this folder start processes, and may share the modules beside them."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), *(str(HERE.parent / name) for name in ("cli", "sql"))]
