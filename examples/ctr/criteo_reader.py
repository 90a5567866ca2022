"""Criteo's lines as MultiSlot text: python criteo_reader.py 1000001 < part-0"""
import sys

import paddle.fluid.incubate.data_generator as dg


class CriteoDataset(dg.MultiSlotDataGenerator):
    """A label, 13 counts and 26 categories between tabs; what is missing is empty."""

    def setup(self, sparse_feature_dim):
        self.cont_min_ = [0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        self.cont_max_ = [20, 600, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
        self.cont_diff_ = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
        self.hash_dim_ = sparse_feature_dim
        self.continuous_range_ = range(1, 14)
        self.categorical_range_ = range(14, 40)

    def generate_sample(self, line):
        def reader():
            features = line.rstrip('\n').split('\t')
            dense_feature = []
            for idx in self.continuous_range_:
                if features[idx] == '':
                    dense_feature.append(0.0)
                else:
                    dense_feature.append(
                        (float(features[idx]) - self.cont_min_[idx - 1]) / self.cont_diff_[idx - 1])
            sparse_feature = [[hash_of(str(idx) + features[idx]) % self.hash_dim_]
                              for idx in self.categorical_range_]
            yield ([('dense_input', dense_feature)]
                   + [('C' + str(i + 1), ids) for i, ids in enumerate(sparse_feature)]
                   + [('label', [int(features[0])])])

        return reader


def hash_of(text):
    """FNV-1a, 32 bits: the same in every process, unlike Python's own hash, and the same in criteo_reader.ts."""
    value = 0x811c9dc5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xffffffff
    return value


if __name__ == '__main__':
    d = CriteoDataset()
    d.setup(int(sys.argv[1]))
    d.run_from_stdin()
