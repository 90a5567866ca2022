"""Stand-in for PaddleRec's tools/utils/static_ps/common_ps.py: what its readers take from there."""
import os

import yaml


def is_distributed_env():
    return os.getenv("TRAINING_ROLE") is not None


def get_utils_file_path():
    return os.path.dirname(os.path.abspath(__file__))


def get_abs_model(model):
    return os.path.dirname(os.path.abspath(model))


class YamlHelper(object):
    """A yaml as one flat dict: `runner: {epochs: 2}` is config["runner.epochs"]."""

    def load_yaml(self, yaml_file, other_part=None):
        with open(yaml_file, encoding="utf-8") as opened:
            content = yaml.safe_load(opened) or {}
        flat = {}
        self._flatten(content, "", flat)
        flat["yaml_path"] = yaml_file
        flat["config_abs_dir"] = os.path.dirname(os.path.abspath(yaml_file))
        return flat

    def _flatten(self, content, prefix, flat):
        for key, value in content.items():
            name = prefix + str(key)
            if isinstance(value, dict):
                self._flatten(value, name + ".", flat)
            else:
                flat[name] = value

    def print_yaml(self, config):
        for key in sorted(config):
            print("%s: %s" % (key, config[key]))
