"""Three classifiers of scikit-learn, trained on the rows of a result and tested on originals that were held out.

PYTHON benchmarks/peers/classifiers.py JOB

JOB is a JSON file: train and test (CSV of codes), domains, ordered, target, positive.

Prints one line of JSON: the area under the ROC curve of each. An ordered attribute enters as its code, any other as one
column for each value; nothing is tuned. A result in which the target has one value has an area of one half.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

MOST_ROWS = 50_000
"""Longer results are cut: the rows of a result have no order that matters."""


def features(codes, domains, ordered, target):
    """The predictors as numbers."""
    parts = []
    for i, (name, size) in enumerate(domains.items()):
        if name == target:
            continue
        if name in ordered:
            parts.append(codes[:, i : i + 1] / max(size - 1, 1))
        if name not in ordered or size <= 60:
            parts.append(np.eye(size, dtype=np.float32)[codes[:, i]])
    return np.hstack(parts).astype(np.float32)


def main(path):
    """Score one result."""
    job = json.loads(Path(path).read_text())
    domains = json.loads(Path(job["domains"]).read_text())
    train, test = (
        np.loadtxt(job[key], delimiter=",", skiprows=1, dtype=np.int64, ndmin=2) for key in ("train", "test")
    )
    if len(train) > MOST_ROWS:
        train = train[np.random.default_rng(0).permutation(len(train))[:MOST_ROWS]]
    at = list(domains).index(job["target"])
    told, true = (np.isin(codes[:, at], job["positive"]) for codes in (train, test))
    if told.all() or not told.any():
        print(json.dumps({"auc_logistic": 0.5, "auc_boosting": 0.5, "auc_forest": 0.5}))
        return
    one, other = (features(codes, domains, set(job["ordered"]), job["target"]) for codes in (train, test))
    models = {
        "auc_logistic": LogisticRegression(max_iter=500),
        "auc_boosting": HistGradientBoostingClassifier(random_state=0),
        "auc_forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1),
    }
    found = {
        name: float(roc_auc_score(true, model.fit(one, told).predict_proba(other)[:, 1]))
        for name, model in models.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
