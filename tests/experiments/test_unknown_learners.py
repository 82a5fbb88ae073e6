"""Files of learners that are not known here can be read, whatever their names begin with."""

import pytest

from fastrm import ConfigError
from fastrm.experiments import Method


def test_a_name_that_begins_like_a_known_learner_is_read_but_not_run():
    assert Method.read("crm-mine-rs-num-bool") == Method(algo="crm-mine", shaping=True, kind="numeric-boolean")
    with pytest.raises(ConfigError, match=r"method .crm-nmu. is unknown .did you mean crm-num"):
        Method.parse("crm-nmu")
