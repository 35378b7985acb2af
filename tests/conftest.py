"""Settings of every test: examples are the same in each run, and a loaded machine fails none of them."""

import os

from hypothesis import settings

# A search asked for by FUZZ_EXAMPLES looks at new examples every time.
settings.register_profile("project", deadline=None, derandomize="FUZZ_EXAMPLES" not in os.environ)
settings.load_profile("project")
