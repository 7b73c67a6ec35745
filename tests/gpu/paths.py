"""Puts the folders of the tables on the import path: this harness runs by itself, without pytest and without an installed lanewise."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in (ROOT, HERE.parent / "simt", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
