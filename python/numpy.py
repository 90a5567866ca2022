"""Stand-in for numpy, used where it is not installed: many readers import it without using it. Its first use says what to do."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError("numpy.%s: numpy is not installed; pip install numpy" % name)
