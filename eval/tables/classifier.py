# Reads a task as JSON on standard input and answers the scores of held-out rows: see classifier.cpp. Ends with status 3
# where scikit-learn is missing.
import json
import sys

try:
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
except ImportError:
    sys.exit(3)

task = json.load(sys.stdin)
kinds = task["categories"]  # of each column: whether it is one of categories 0, 1, …; a missing number is null
categories = [c for c, kind in enumerate(kinds) if kind]
numbers = [c for c, kind in enumerate(kinds) if not kind]


def features(part):
    return np.array(task[part]["columns"], dtype=float).T


def linear(known):
    """Missing numbers become the column's mean."""
    means = np.nan_to_num(np.nanmean(known[:, numbers], axis=0)) if numbers else np.zeros(0)

    def fill(x):
        x = x.copy()
        for c, mean in zip(numbers, means):
            x[np.isnan(x[:, c]), c] = mean
        return x

    encode = ColumnTransformer([("categories", OneHotEncoder(handle_unknown="ignore"), categories),
                                ("numbers", StandardScaler(), numbers)])
    return make_pipeline(encode, LogisticRegression(max_iter=1000)), fill


def boosted(known):
    return HistGradientBoostingClassifier(categorical_features=categories or None, random_state=0), lambda x: x


held_out = features("held_out")
answer = []
for name, make in (("logistic regression", linear), ("boosted trees", boosted)):
    for part in ("made_up", "real"):
        known, classes = features(part), np.array(task[part]["classes"])
        scores = np.zeros((len(held_out), task["classes"]))
        if len(set(classes)) == 1:
            scores[:, classes[0]] = 1
        else:
            model, fill = make(known)
            model.fit(fill(known), classes)
            scores[:, model.classes_] = model.predict_proba(fill(held_out))
        answer.append({"name": name, "part": part, "scores": scores.T.tolist()})
json.dump(answer, sys.stdout)
