"""Where cmake has built what Python tests run: SHOAL_BUILD_DIR, else build/release."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("SHOAL_BUILD_DIR", "build/release")
