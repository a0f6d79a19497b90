"""`python -m app` is `specchat`."""

import sys

from app.cli import main

sys.exit(main())
