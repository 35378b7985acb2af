"""The headless commands: one module each, with NAME, HELP, `add_arguments(parser)` and `run(parsed) -> exit code`."""
