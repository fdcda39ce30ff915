"""The tests of this folder run the blocks of the site, commands within their own process."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "cli")]
