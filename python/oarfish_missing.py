"""What is said about a part of paddle that the stand-ins do not have."""


def missing(module):
    def getattr_(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(
            "%s.%s is not among Oarfish's stand-ins for paddle (data generators, datasets, ranks and common_ps). "
            "If the reader needs it, install paddlepaddle: pip install paddlepaddle" % (module, name), name="paddle")

    return getattr_
