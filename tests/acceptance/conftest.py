"""What the tests of whole processes share."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
# The tests of this folder import the modules beside them, and what runs the tools of npm.
sys.path += [str(HERE), str(HERE.parent / "npm")]
