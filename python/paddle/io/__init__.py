"""Stand-in for paddle.io: the classes that readers are built on."""
from oarfish_missing import missing


class Dataset(object):
    def __getitem__(self, index):
        raise NotImplementedError("%s has no __getitem__" % type(self).__name__)

    def __len__(self):
        raise NotImplementedError("%s has no __len__" % type(self).__name__)


class IterableDataset(Dataset):
    def __iter__(self):
        raise NotImplementedError("%s has no __iter__" % type(self).__name__)


def get_worker_info():
    """None, as in the process that trains: files are dealt out before the reader sees them."""
    return None


__getattr__ = missing("paddle.io")
