#!/bin/sh
# A Chromium for the browser tests: the system's if present, installed if this is root with apt-get, else a loud line.
set -u

have() { command -v "$1" >/dev/null 2>&1; }
present() {
    if [ -n "${CHROMIUM:-}" ]; then [ -x "$CHROMIUM" ]; else have chromium || have chromium-browser || have google-chrome; fi
}

if present; then
    exit 0
fi
if [ "$(id -u)" -eq 0 ] && have apt-get; then
    echo "No Chromium found: installing it for the browser tests."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core >/dev/null
fi
if ! present; then
    echo "*****************************************************************************"
    echo "* NO CHROMIUM: THE BROWSER TESTS WILL BE SKIPPED.                            *"
    echo "* Install chromium and fonts-dejavu-core, or set CHROMIUM to its executable. *"
    echo "*****************************************************************************"
fi
exit 0
