"""The app: page table, sidebar and pages are in `pages/_ui/shell.py`."""

from pages._ui.shell import main

main()
