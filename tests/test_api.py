"""The thin door: plain numbers in, plain numbers out, loaded when first used."""

import subprocess
import sys

import numpy as np
import pytest

import shoal


def test_delta_takes_one_or_many_epsilons():
    assert shoal.delta(k=20, beta=0.1, epsilon=1.0) == pytest.approx(2.7606873e-15, rel=1e-7)
    assert shoal.delta(k=20, beta=0.1, epsilon=1.0, bound="published") == pytest.approx(4.0725057e-14, rel=1e-7)
    many = shoal.delta(k=20, beta=0.1, epsilon=np.array([[0.5, 1.0], [1.5, 2.0]]))
    assert many.shape == (2, 2)
    assert many[0, 1] == shoal.delta(k=20, beta=0.1, epsilon=1)
    assert (np.diff(many.ravel()) < 0).all()


@pytest.mark.slow
def test_solve_amplify_compose_and_sample_rate():
    assert shoal.solve(epsilon=1, delta=1e-6, beta=0.2).k == 12
    assert shoal.amplify(epsilon=1, delta=0, rate=0.1).epsilon == pytest.approx(0.1586, abs=1e-4)
    assert shoal.allowance(epsilon=0.1, delta=0, rate=0.01).epsilon == pytest.approx(2.44, abs=1e-2)
    total = shoal.compose([(shoal.SafeKSampling(20, ".15"), 28)], delta=1e-6)
    assert total.epsilon == total.pld == max(total.pld_remove, total.pld_add) < total.basic
    assert shoal.sample_rate([5000, 5000], epsilon=0.3, delta=0.01).rate > 0.2
    assert len(shoal.frontier(1, 1e-6)) > 10


@pytest.mark.slow
def test_every_public_name_is_there_and_no_other():
    assert all(getattr(shoal, name) is not None for name in shoal.__all__)
    assert set(dir(shoal)) >= set(shoal.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        _ = shoal.sale


def test_import_is_light():
    code = "import sys, shoal; assert not {'numpy', 'scipy', 'matplotlib', 'dp_accounting'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_microaggregate_groups_near_records():
    values = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.3]])
    labels = shoal.microaggregate(values, k=3)
    assert labels.dtype == np.int32
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1
    assert labels[0] != labels[5]
