"""The tests of this folder run the command line within their own process: tests/cli/command.py."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "sql")]
