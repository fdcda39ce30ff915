"""The tests of this folder run tools of npm on memsense, which `make npm-...` installs."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
# The modules beside them, and the processes of `memsense mcp`.
sys.path += [str(HERE), str(HERE.parent / "acceptance")]
