"""The tests of this folder run the command line within their own process: tests/cli/command.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
