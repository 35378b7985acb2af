"""The errors a person can cause or must be told about; every message is one sentence with a remedy."""


class CoreError(Exception):
    """Base of every error that pages show; its text is a sentence a person can act on."""


class InputError(CoreError):
    """A value that a person gave is outside what is allowed.

    Parameters
    ----------
    field : str
        The knob or column concerned, as the interface names it.
    sentence : str
        What was got, what is allowed and what to do.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class SolverError(CoreError):
    """A solver did not reach a usable answer; the sentence says which and what happens instead."""


class CertificateError(CoreError):
    """A channel did not pass its integer certificate; it is refused, never shown."""
