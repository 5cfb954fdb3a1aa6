"""Other people's synthesizers on one table of codes, each run as its own process by the Python of its own environment.

PYTHON benchmarks/peers/synthesizers.py JOB        JOB is a JSON file: method, table, domains, epsilon, delta, output, seconds

`table` is a CSV of codes 0 to n-1, `domains` a JSON object of name and number of codes. The synthetic codes go to `output`
(CSV), and CPU seconds and the greatest memory to standard output as one line of JSON. A run that needs more than `seconds`
of CPU is ended by the operating system; the caller says so. What is timed is the mechanism and the drawing of rows, without
imports and reading. Environments: `opendp-*` need opendp[mbi] with polars, `smartnoise-*` smartnoise-synth,
`privbayes` DataSynthesizer. The promises differ in small things, all in the peers' favour or stated here:

    opendp-*       a rho of zero-concentrated privacy that gives (epsilon, delta) by the best known conversion
    smartnoise-*   the same conversion, their own; they take the number of rows as public
    privbayes      epsilon alone (delta is not used); takes the number of rows as public

How rows are drawn from a model of mbi is said in the package's synthesizer_process.py, which runs OpenDP's synthesizers: rows
that are drawn so are scored, while `shipped` takes what the library itself draws.
"""

import json
import math
import resource
import secrets
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "src/shoal/publish/comparison"))
import synthesizer_process as process


def rho_for(epsilon, delta):
    """The largest rho whose zero-concentrated privacy gives (epsilon, delta): Canonne, Kamath and Steinke (2020)."""

    def log_delta(rho):
        """The logarithm of the least delta, over orders alpha; the bound is convex in alpha, so its minimum is bracketed."""

        def bound(alpha):
            return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

        low, high = 1 + 1e-9, (epsilon + 1) / (2 * rho) + 2
        for _ in range(200):
            third = (high - low) / 3
            low, high = (low + third, high) if bound(low + third) > bound(high - third) else (low, high - third)
        return bound(low)

    low, high = 0.0, epsilon + 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def opendp(kind, table, domains, epsilon, delta):
    """MST, AIM over all pairs or triples, or noise on all pairs and one model, as opendp.extras.mbi has them."""
    kind = {"aim2": "aim", "aim2small": "aim-small"}.get(kind, kind)
    return process.synthesize(kind, table, domains, rho_for(epsilon, delta), 1, shipped=True)


def smartnoise(kind, table, domains, epsilon, delta):
    """MST, or AIM over all pairs or triples, as smartnoise-synth has them."""
    import pandas as pd
    from snsynth import Synthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    frame = pd.read_csv(table)
    made = {
        "mst": lambda: Synthesizer.create("mst", epsilon=epsilon, delta=delta),
        "aim2": lambda: Synthesizer.create("aim", epsilon=epsilon, delta=delta, degree=2, max_cells=10**7),
        "aim3": lambda: Synthesizer.create("aim", epsilon=epsilon, delta=delta, degree=3, max_cells=10**7),
    }[kind]()
    columns = []
    for size in domains.values():  # fitted to the declared codes, so that nothing is read off the data
        one = LabelTransformer(nullable=False)
        one.fit(range(size))
        columns.append(one)
    began = process.cpu_seconds()
    made.fit(frame, transformer=TableTransformer(columns))
    drawn = made.sample(len(frame))
    spent = process.cpu_seconds() - began
    again = process.draw_rows(made.synthesizer, len(frame))
    if kind == "mst":
        from mbi import Dataset

        again = made.undo_compress_fn(Dataset(again, made.synthesizer.domain)).df
    rows = zip(*(again[f"col{i}"].tolist() for i in range(len(domains))), strict=True)
    return list(rows), drawn[list(domains)].to_numpy().tolist(), spent


def privbayes(kind, table, domains, epsilon, delta):
    """PrivBayes as DataSynthesizer has it, with networks of at most two or three parents."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    del delta
    with tempfile.TemporaryDirectory() as folder:
        words, described = Path(folder) / "words.csv", Path(folder) / "described.json"
        lines = Path(table).read_text().splitlines()
        sizes = list(domains.values())
        words.write_text(
            "\n".join([lines[0], *(",".join(f"v{code}" for code in line.split(",")) for line in lines[1:])]) + "\n"
        )
        rows = len(lines) - 1
        del lines
        began = process.cpu_seconds()
        describer = DataDescriber(category_threshold=max(sizes) + 1)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(words),
            epsilon=epsilon,
            k=int(kind),
            attribute_to_is_categorical=dict.fromkeys(domains, True),
            seed=secrets.randbits(31),
        )
        describer.save_dataset_description_to_file(str(described))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(rows, str(described), seed=secrets.randbits(31))
        spent = process.cpu_seconds() - began
        drawn = generator.synthetic_dataset[list(domains)]
        rows = [[int(str(value)[1:]) for value in row] for row in drawn.to_numpy().tolist()]
        return rows, rows, spent


FAMILIES = {"opendp": opendp, "smartnoise": smartnoise, "privbayes": privbayes}


def main(path):
    """Run one job."""
    job = json.loads(Path(path).read_text())
    if job.get("seconds"):
        resource.setrlimit(resource.RLIMIT_CPU, (int(job["seconds"]), int(job["seconds"]) + 5))
    domains = json.loads(Path(job["domains"]).read_text())
    family, kind = job["method"].split("-")
    rows, shipped, spent = FAMILIES[family](kind, job["table"], domains, job["epsilon"], job["delta"])
    for place, codes in ((job["output"], rows), (job.get("shipped"), shipped)):
        if place:
            lines = (",".join(str(int(code)) for code in row) for row in codes)
            Path(place).write_text("\n".join([",".join(domains), *lines]) + "\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": spent, "process": process.cpu_seconds(), "megabytes": peak, "rows": len(rows)}))


if __name__ == "__main__":
    main(sys.argv[1])
