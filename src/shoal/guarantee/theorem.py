"""Every result that a promise rests on: its name, citation, statement, premises, and the line that enforces each premise.

The name is the file name of its proof page (docs/proofs/<name>.md) and what a PreconditionError quotes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PremiseStatus(Enum):
    """How a premise is known to be met in one release; there is no fourth way, and no default."""

    CHECKED = "checked by the program"
    BUILT = "met by the way it was made"
    STATED = "said by the custodian"
    """Nobody else can know it."""


@dataclass(frozen=True)
class PremiseAnswer:
    """How one plan meets one premise, in a closed word and in a sentence."""

    how: PremiseStatus
    detail: str


@dataclass(frozen=True)
class Premise:
    """A condition of a theorem and the function that raises when it does not hold ('custodian' if only the custodian can know).

    The `key` is its short name, by which a plan answers for it.
    """

    key: str
    text: str
    enforced_by: str


@dataclass(frozen=True)
class Theorem:
    """A named result: its title, citation, statement and premises; its proof is docs/proofs/<name>.md."""

    name: str
    title: str
    citation: str
    statement: str
    premises: tuple[Premise, ...]


def _premise(key: str, text: str, enforced_by: str) -> Premise:
    """A premise; a name that does not begin with `shoal.` is one of `guarantee/`."""
    named = enforced_by == "custodian" or enforced_by.startswith("shoal.")
    return Premise(key, text, enforced_by if named else f"shoal.guarantee.{enforced_by}")


_RATE = _premise("sampling-rate", "the sampling rate lies strictly between 0 and 1", "safe_k.curve.check_beta")
_CLASS_SIZE = _premise("class-size", "k is a whole number from 1 up", "safe_k.curve.check_k")
_EPSILON = _premise("epsilon", "epsilon is finite and not negative", "safe_k.curve.check_epsilon")
_FIXED = _premise("recoding-fixed", "the recoding does not depend on the data", "custodian")
_OWN_SAMPLE = _premise(
    "own-sample", "the sample is drawn afresh, independently, and used for nothing else", "custodian"
)
_ROWS_OF_UNIT_C = _premise(
    "rows-of-unit-c", "no unit has more than c rows in the table", "shoal.engine.base.bound_contributions"
)
_TABLE_GIVEN = _premise(
    "table-given",
    "the table, what a value of it is, and the rate are taken as given: chance is the draw alone",
    "custodian",
)
_FRESH = _premise("fresh-samples", "each release draws its own sample and discards it", "compose.compose")
_FACTORS = _premise(
    "factors", "the factors are no wider than epsilon allows", "shoal.mechanism.refinement.mechanism.check_curve"
)
_TOTAL = _premise(
    "refined-total", "the refined probabilities sum to exactly one", "shoal.mechanism.refinement.mechanism.check_curve"
)
_MOVED = _premise(
    "moved-mass", "no more is moved than delta allows", "shoal.mechanism.refinement.mechanism.check_curve"
)
_PRIOR = _premise(
    "prior-total",
    "the prior sums to exactly one and is nowhere negative",
    "shoal.mechanism.refinement.prior.check_probabilities",
)
_ONE_RECORD = _premise(
    "one-record-each", "no person has two records", "shoal.anonymize.method.microaggregation.bound_to_one_row"
)
_PRIOR_FIXED = _premise("prior-fixed", "prior, distance and factors are fixed without the data", "custodian")
_ONE_PERSON = _premise(
    "one-person", "an individual question depends on one person, and an absent one gives the prior", "custodian"
)
_RECORD_WISE = _premise(
    "record-wise",
    "each step maps a record by itself, with chance of its own, and leaves alone whose record it is",
    "shoal.anonymize.treatment.base.check_record_wise",
)
_STEPS_FIXED = _premise("treatments-fixed", "the steps and their parameters are fixed without the data", "custodian")
_ABOVE_ZERO = _premise("positive-epsilon", "epsilon is above 0", "shoal.mechanism.base.target_epsilon")
_DECLARED = _premise("sensitivity-declared", "sensitivity and grid are declared without the data", "custodian")

_ALL = (
    Theorem(
        "safe-k-tight",
        "The exact privacy curve of sampling and safe k-anonymization",
        "Shoal; sharpens LQS11 Theorem 5",
        "Keeping each record with probability beta, recoding by a map that does not depend on the data and dropping "
        "tuples seen fewer than k times is (epsilon, delta*(k, beta, epsilon))-DP for add_remove neighbours, and no "
        "smaller delta holds.",
        (_CLASS_SIZE, _RATE, _EPSILON, _FIXED, _OWN_SAMPLE),
    ),
    Theorem(
        "safe-k-published",
        "The published bound on the probability of a bad outcome",
        "LQS10 Theorem 1, LQS11 Theorem 5",
        "The likelihood ratio leaves [e^-epsilon, e^epsilon] with probability at most d(k, beta, epsilon).",
        (
            _CLASS_SIZE,
            _RATE,
            _premise("published-epsilon", "epsilon >= -ln(1 - beta)", "safe_k.curve.delta_published"),
            _FIXED,
            _OWN_SAMPLE,
        ),
    ),
    Theorem(
        "safe-k-monotone",
        "delta* falls with k and epsilon and rises with beta",
        "Shoal; post-processing and subsampling",
        "Suppressing at k + 1 post-processes suppressing at k; a smaller rate is sampling first, then the same mechanism.",
        (_CLASS_SIZE, _RATE, _EPSILON),
    ),
    Theorem(
        "safe-k-dominating-pair",
        "Sampling and safe k-anonymization are dominated by M against M + 1",
        "Shoal",
        "With M negative binomial (records passed over before the k-th is sampled), (M, M + 1) dominates the mechanism "
        "at every order in both directions, and each order is attained.",
        (_CLASS_SIZE, _RATE),
    ),
    Theorem(
        "safe-k-nontrivial",
        "A delta that is not below beta promises nothing",
        "LQS11 Definition 3",
        "Publishing raw sampled rows is (0, beta)-DP, so a meaningful promise has delta < beta.",
        (_premise("delta-below-beta", "delta < beta", "safe_k.setting.solve"),),
    ),
    Theorem(
        "no-sampling-no-privacy",
        "Without sampling no delta below 1 can be had",
        "LQS11 Proposition 4",
        "Safe k-anonymization of the whole table is deterministic and satisfies (epsilon, delta)-DP for no delta < 1.",
        (_premise("beta-below-one", "beta < 1", "safe_k.curve.check_beta"),),
    ),
    Theorem(
        "eps-safe-recoding",
        "A recoding chosen by an epsilon_1-DP algorithm on the full table",
        "LQS11 Theorem 6, Definition 6, with the condition of the errata page",
        "If the recoding is chosen epsilon_1-privately on the full table (or on a separate sample), independently of the "
        "published sample, the whole is (epsilon_1 + epsilon_2, delta*(k, beta, epsilon_2))-DP.",
        (
            _CLASS_SIZE,
            _RATE,
            _FRESH,
            _premise("recoding-apart", "the recoding is not chosen on the published sample", "custodian"),
        ),
    ),
    Theorem(
        "amplification",
        "Sampling amplifies privacy",
        "LQS11 Theorem 1",
        "(epsilon_1, delta_1) at rate beta_1 is (ln(1 + r (e^epsilon_1 - 1)), r delta_1) at rate beta_2 = r beta_1.",
        (_premise("smaller-rate", "0 < beta_2 <= beta_1 <= 1", "differential.amplify"),),
    ),
    Theorem(
        "dependent-samples",
        "Several samples of one rate, however they depend on each other",
        "Shoal",
        "Costs on samples at rates of at most beta that sum to at most (s, d) are together "
        "(ln(1 + beta (e^s - 1)), d)-DP for the population.",
        (
            _premise(
                "one-rate",
                "all samples have the same bound beta on their rate",
                "shoal.ledger.refusals.refuse_other_rate",
            ),
            _premise("add-remove", "neighbours add or remove one unit", "shoal.ledger.state.Registration"),
            _premise(
                "costs-beside-samples",
                "costs beside samples leave the sum of all within (epsilon, delta)",
                "shoal.ledger.refusals.refuse_overrun",
            ),
            _premise(
                "places-apart",
                "a unit's places in all samples are drawn apart from the others' and from the answers",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "dps-does-not-compose",
        "Privacy under sampling does not compose on one sample",
        "LQS11 sections 2.2 and 2.6; corrects LQS10 Theorem 2",
        "Two results from one sample are covered by no bound, even if one of them is plain DP.",
        (_FRESH,),
    ),
    Theorem(
        "syntactic-does-not-compose",
        "k-anonymity and its relatives do not compose",
        "Ganta, Kasiviswanathan and Smith 2008",
        "Two k-anonymous tables about overlapping people can identify someone together.",
        (_premise("only-differential", "only differential guarantees are composed", "compose.compose"),),
    ),
    Theorem(
        "basic-composition",
        "Epsilons and deltas add up",
        "Dwork, Kenthapadi, McSherry, Mironov and Naor 2006",
        "Running (epsilon_i, delta_i)-DP mechanisms, even chosen one after another, is (sum epsilon_i, sum delta_i)-DP.",
        (_FRESH,),
    ),
    Theorem(
        "adaptive-filter",
        "A budget for questions that are chosen by earlier answers",
        "Shoal; privacy filters of Rogers, Roth, Ullman and Vadhan 2016, the Gaussian one as in Smith and Thakurta 2022 and "
        "Koskela, Tobaben and Honkela 2023",
        "Events that are chosen one after another, each allowed only while the epsilons stay within epsilon or the mu^2 stay "
        "within the mu^2 of (epsilon, g), and while the deltas of the ways that hold stay within p, are together "
        "(epsilon, p + g)-DP.",
        (
            _premise(
                "shares-fixed",
                "the shares p and g of delta and the mu^2 are fixed in advance, and mu^2 is proved for g",
                "shoal.ledger.filter.FilterBudget",
            ),
            _premise(
                "checked-before",
                "an event is checked before it happens, with a cost that does not depend on its own answer",
                "shoal.ledger.filter.FilterState.after",
            ),
            _premise(
                "event-cost",
                "each event costs what is stated, for every earlier answer",
                "shoal.ledger.filter.EventCost",
            ),
        ),
    ),
    Theorem(
        "discrete-gaussian-curve",
        "Discrete Gaussian noise as continuous noise that is rounded at random",
        "Shoal; Poisson summation as in Canonne, Kamath and Steinke 2020",
        "Discrete Gaussian noise of variance parameter s^2 > 2 on numbers of which a unit changes at most n, by Delta together, "
        "is up to factors of e^(3.2e-17 n) either way computed from continuous Gaussian noise of variance s^2 - 2, so from one "
        "normal number whose mean moves by mu = Delta / sqrt(s^2 - 2).",
        (
            _premise(
                "variance-left",
                "what is left of the variance is above 0, else the event counts as a pair",
                "shoal.ledger.filter.EventCost.discrete_gaussian",
            ),
            _DECLARED,
        ),
    ),
    Theorem(
        "parallel-composition",
        "Questions about different people cost as much as the dearest",
        "SC13 Proposition 4, with the conditions that its proof uses; McSherry 2009",
        "Answers that depend on disjoint groups of rows are together (max epsilon_i, delta)-DP when a row is added or removed, "
        "and the two largest add up when one is replaced.",
        (
            _premise(
                "disjoint-conditions", "no row can satisfy two of the conditions", "shoal.query.batch.are_disjoint"
            ),
            _premise("one-row", "a unit has one row", "shoal.query.batch.cost"),
            _premise("own-bits", "each answer has bits of its own", "shoal.query.session.Session"),
        ),
    ),
    Theorem(
        "advanced-composition",
        "Many small losses grow like a square root",
        "Kairouz, Oh and Viswanath 2015, Theorem 3.5",
        "With s = sum epsilon_i^2, the total is at most sum epsilon_i tanh(epsilon_i/2) + sqrt(2 s ln(1/delta')) at "
        "1 - (1 - delta') prod(1 - delta_i).",
        (_FRESH, _premise("parts-fixed", "the parts are fixed in advance", "custodian")),
    ),
    Theorem(
        "pld-composition",
        "Privacy-loss distributions convolve",
        "Zhu, Dong and Wang 2022; Doroshenko and others 2022",
        "The composition of mechanisms is dominated by the product of their dominating pairs; chords above a convex curve "
        "give a dominating pair on a grid.",
        (
            _FRESH,
            _premise("reliable-delta", "delta is at least 1e-11", "compose.Composition.pld_epsilon"),
            _premise("parts-fixed", "the parts are fixed in advance", "custodian"),
        ),
    ),
    Theorem(
        "concentrated-composition",
        "Concentrated privacy adds up",
        "Bun and Steinke 2016; the conversion of Canonne, Kamath and Steinke 2020",
        "Mechanisms that satisfy rho_i-zCDP, each chosen in the light of earlier outputs, satisfy (sum rho_i)-zCDP together, "
        "which is (epsilon, delta)-DP with delta the least over a > 1 of exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).",
        (
            _premise("rho-range", "every rho is above 0, and their sum at most 350", "noise.check_rho"),
            _premise("parts-fixed", "the parts are fixed in advance", "custodian"),
        ),
    ),
    Theorem(
        "record-wise-treatment",
        "Treating each record by itself before a mechanism keeps its promise",
        "Shoal",
        "If every record is first replaced by T(record, its own chance), with T fixed without the data and the chances "
        "independent of each other and of everything else, and the mechanism behind is (epsilon, delta)-DP, then the whole is "
        "(epsilon, delta)-DP for the same unit and neighbours.",
        (_RECORD_WISE, _STEPS_FIXED),
    ),
    Theorem(
        "post-processing",
        "Whatever is computed from the output stays covered",
        "LQS11 Theorem 2; Dwork and Roth 2014",
        "Applying any function that does not look at the data again keeps the guarantee, also under sampling.",
        (),
    ),
    Theorem(
        "axiom-of-choice",
        "Picking one of two mechanisms by a coin that ignores the data",
        "LQS11 Theorem 3",
        "The worse epsilon and the worse delta of the two hold.",
        (),
    ),
    Theorem(
        "group-privacy",
        "A unit with up to m rows",
        "Shoal; chain of neighbours",
        "delta_m(e_1 + ... + e_m) <= sum_i e^(e_1 + ... + e_{i-1}) delta(e_i) for every split.",
        (_premise("rows-of-unit", "m is a whole number from 1 up", "safe_k.group.delta_of_rows"),),
    ),
    Theorem(
        "replace-one",
        "Replacing a record is one removal and one addition",
        "Shoal; chain of neighbours",
        "delta_replace(e_1 + e_2) <= delta_remove(e_1) + e^(e_1) delta_add(e_2), and the same with the order exchanged.",
        (_EPSILON,),
    ),
    Theorem(
        "f-smooth",
        "One formula for all epsilons beyond the first",
        "LQS10 Definition 5, Theorems 5 and 6, with the printed delta_0 corrected",
        "delta at z epsilon_0 is at most delta_0 f(z); releases compose with sums of epsilon_0 and delta_0 and the larger f.",
        (
            _CLASS_SIZE,
            _RATE,
            _premise("smooth-range", "epsilon_0 >= -ln(1 - beta) and z >= 1", "differential.SmoothBound"),
        ),
    ),
    Theorem(
        "sample-published",
        "The published safe rate of a plain sample",
        "CM06 Theorems 3 and 7, with the condition of the errata page",
        "A sample at rate p is (c, epsilon', delta)-private for the given table.",
        (
            _premise("cm06-half", "r (p + epsilon) < 1/2", "plain_sample.check_published"),
            _premise("cm06-half-c", "c r (p + epsilon) <= 1/2 for c > 1", "plain_sample.check_published"),
            _premise("cm06-rate", "p is at most the theorem's bound", "plain_sample.published_rate"),
            _OWN_SAMPLE,
            _ROWS_OF_UNIT_C,
            _TABLE_GIVEN,
        ),
    ),
    Theorem(
        "sample-exact",
        "The exact safe rate of a plain sample",
        "Shoal; sharpens CM06",
        "Each value has a cap, the most rows of it that a sample may show for c and epsilon; a sample that exceeds no cap keeps "
        "the promise. Of n_v rows with the value v each is kept with probability p, so it fails with probability "
        "1 - prod_v Pr[Bin(n_v, p) <= cap_v].",
        (
            _premise("counts", "counts are whole numbers from 1 up and c >= 1", "plain_sample.sample_rate"),
            _OWN_SAMPLE,
            _ROWS_OF_UNIT_C,
            _TABLE_GIVEN,
        ),
    ),
    Theorem(
        "monotone-exponential",
        "The exponential mechanism without the factor 2",
        "McSherry and Talwar 2007; Dwork and Roth 2014",
        "If adding a record lowers no score and raises none by more than s, drawing with probability proportional to "
        "exp(epsilon score / s) is epsilon-DP; if it lowers none by more than a and raises none by more than b, s = a + b.",
        (
            _premise(
                "schemes-fixed", "the options and the weights of their scores are fixed without the data", "custodian"
            ),
        ),
    ),
    Theorem(
        "halving-tree",
        "A tree that halves boxes while they hold many records",
        "Zhang, Xiao and Xie 2016 (PrivTree), for noise on whole numbers; the exact cost",
        "A box at depth i with c records is divided if max(c - i B - theta, -B) plus two-sided geometric noise of scale lambda "
        "is above 0. With p = exp(-1/lambda) the tree costs 2/lambda plus the sum over i >= 1 of "
        "ln((1 + p - p^(iB+1)) / (1 + p - p^(iB))) when one record is added or removed, however deep it is.",
        (
            _premise(
                "tree-noise",
                "the noise costs no more than the tree's epsilon",
                "shoal.mechanism.boxes.BoxSetting",
            ),
            _premise(
                "tree-bias",
                "the scale is above 0 and the bias a whole number from 1 up",
                "shoal.mechanism.boxes.halving_cost",
            ),
            _premise(
                "divisions-fixed",
                "domains, weights and the order of divisions are fixed without the data",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "box-means",
        "Noisy counts and means of disjoint boxes",
        "Shoal; parallel composition (McSherry 2009) with the box noise of SC13 chapter 4",
        "Histograms of v attributes at epsilon_v each, a tree of boxes by `halving-tree` at epsilon_t, and for each box its "
        "count and one bounded sum for each attribute with box noise at epsilon_m cost v epsilon_v + epsilon_t + epsilon_m when "
        "one record is added or removed, however many boxes there are.",
        (
            _premise(
                "box-epsilons",
                "every epsilon of a step is above 0 and their sum is at most that of a row",
                "shoal.mechanism.boxes.BoxSetting",
            ),
            _premise(
                "box-attributes",
                "the noise was solved for these attributes and domains",
                "shoal.anonymize.method.box_microaggregation.BoxMicroaggregation",
            ),
            _premise("box-rows", "no unit has more than m rows in the table", "shoal.engine.base.bound_contributions"),
            _premise("box-domains", "domains and weights are fixed without the data", "custodian"),
        ),
    ),
    Theorem(
        "measured-tree",
        "A tree of boxes grown on noisy counts",
        "Shoal; the geometric mechanism of Ghosh, Roughgarden and Sundararajan 2009, composed",
        "A measurement adds two-sided geometric noise to the count of each box of a partition and to each cell's count of each "
        "attribute within its box. It costs the epsilon of its counts plus that of each attribute's histogram; measurements of "
        "partitions that are computed from earlier answers add up, and every tree computed from the answers is covered.",
        (
            _premise("measurement-epsilons", "every epsilon of a measurement is above 0", "compose.MeasurementBudget"),
            _premise(
                "measurement-shares",
                "the measurements' shares add up to no more than the whole",
                "compose.measurement_budgets",
            ),
            _premise("cells-fixed", "cells, weights, k and beta are fixed without the data", "custodian"),
        ),
    ),
    Theorem(
        "view-choice",
        "Views chosen by how far they are from independence",
        "Shoal; the exponential mechanism of McSherry and Talwar 2007, with scores as in MST (McKenna, Miklau and Sheldon 2021)",
        "Given noisy histograms of every attribute, the distance of a view's counts from what independence would make of them "
        "moves by at most one when a record is added; drawing views one after another with probability proportional to "
        "exp(epsilon distance / 2) costs the sum of the epsilons, and the histograms cost theirs.",
        (
            _premise("measurement-epsilons", "every epsilon of a measurement is above 0", "compose.MeasurementBudget"),
            _premise(
                "candidates-fixed", "the candidates and how many are chosen are fixed without the data", "custodian"
            ),
        ),
    ),
    Theorem(
        "ramp-score",
        "A score of recodings with slope two",
        "Shoal",
        "score(g) = w(g) sum over classes of min(n, max(0, 2n - k/beta)) is monotone with sensitivity 2 max w.",
        (),
    ),
    Theorem(
        "records-score",
        "A score of recodings by the records they publish on average",
        "Shoal",
        "score(g) = w(g) sum over classes of T(n), where T is floor(1000 n Pr[Bin(n - 1, beta) >= k - 1]) in a table and "
        "rises by 1000 beyond it, is monotone with sensitivity max w times the largest step of T.",
        (_premise("score-range", "k/beta is at most a million", "shoal.anonymize.generalize.scores.Records"),),
    ),
    Theorem(
        "discernibility-score",
        "A score of recodings by how well they tell records apart",
        "Shoal",
        "With m = ceil(k/beta) and c = 8 m, adding a record raises score(g) = sum over classes of min(n, max(0, 2n - m)) "
        "max(0, c - n) by less than 2 c and lowers it by at most c - 1.",
        (
            _premise(
                "discernibility-range", "k/beta is at most 10^8", "shoal.anonymize.generalize.scores.Discernibility"
            ),
        ),
    ),
    Theorem(
        "target-score",
        "A score of recodings by what they predict",
        "Shoal",
        "score(g) = sum over classes of the other attributes of the largest min(n_v, max(0, 2 n_v - k/beta)) of a value v "
        "of the target is monotone with sensitivity 2.",
        (_premise("target-level", "the target has one level", "shoal.anonymize.generalize.scores.Target.within"),),
    ),
    Theorem(
        "microaggregation-k",
        "Microaggregated groups are k-anonymous",
        "SC13 section 2.3; Domingo-Ferrer and Torra 2005",
        "If people are divided into groups of at least k by their quasi-identifiers, and everybody in a group shows the same "
        "quasi-identifiers, then every combination of them that occurs, occurs at least k times.",
        (
            _premise(
                "groups-of-k",
                "every group has at least k records",
                "shoal.anonymize.method.microaggregation.Microaggregation",
            ),
            _ONE_RECORD,
            _premise(
                "quasi-declared", "the attributes that an intruder may know are declared quasi-identifiers", "custodian"
            ),
        ),
    ),
    Theorem(
        "full-domain-k",
        "Classes that fail are left out until none fails",
        "Samarati 2001; Sweeney 2002; Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007; Li, Li and "
        "Venkatasubramanian 2007",
        "If every record shows labels in place of its quasi-identifiers, and every class of equal labels that lacks a criterion "
        "is removed until none does, then every class of the published table has every criterion, with the published table as "
        "the table that classes are compared with.",
        (
            _premise(
                "classes-recounted",
                "the classes, and the table they are compared with, are those that are published",
                "shoal.anonymize.method.k_anonymity.recount",
            ),
            _premise(
                "one-record-each",
                "no person has two records",
                "shoal.anonymize.method.microaggregation.bound_to_one_row",
            ),
            _premise(
                "quasi-declared", "the attributes that an intruder may know are declared quasi-identifiers", "custodian"
            ),
        ),
    ),
    Theorem(
        "population-k",
        "Classes counted on the population",
        "Sweeney 2001",
        "If a population holds every person of the table, and every class of the published table has the labels of at least k of "
        "its people, then the labels of a person in the table fit at least k people of the population.",
        (
            _premise(
                "population-holds-table",
                "the population has at least as many people as the table has rows, for every combination of quasi-identifiers",
                "shoal.anonymize.generalize.search.records.encode_records",
            ),
            _premise(
                "population-true",
                "the population is the one that an intruder would look among, each person once",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "monotone-criteria",
        "What a coarser scheme keeps of a finer one",
        "Samarati 2001; LeFevre, DeWitt and Ramakrishnan 2005; Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007; Li, "
        "Li and Venkatasubramanian 2007; Shoal for the rest",
        "A union of classes has k, distinct l and k-map if one of them has it, and every criterion of the family if all of them "
        "have it, compared with one and the same table. So no coarser scheme suppresses more rows for the lack of k, l or k-map, "
        "and where nothing is suppressed, every scheme that is coarser than an allowed one is allowed.",
        (
            _premise(
                "levels-nest",
                "every level of a hierarchy coarsens the one before",
                "shoal.anonymize.kernel.rollup.GeneralizedColumn",
            ),
        ),
    ),
    Theorem(
        "probabilistic-k",
        "Values that change places at random inside groups of k",
        "SC13 chapter 3",
        "If values are permuted uniformly inside groups of at least k, independently of everything else, then an intruder to "
        "whom all assignments of a group's values to its members are equally likely beforehand takes a person's values from "
        "that person's own record with probability at most 1/k.",
        (
            _premise(
                "groups-of-k", "every group has at least k records", "shoal.anonymize.method.probabilistic_k.Swap"
            ),
            _ONE_RECORD,
            _premise(
                "uniform-permutations",
                "permutations are uniform, drawn afresh and forgotten",
                "shoal.anonymize.aggregate.shuffle",
            ),
            _premise(
                "order-of-file",
                "who is grouped with whom does not depend on the order of the file",
                "shoal.anonymize.cluster.clustering.Clustering",
            ),
            _premise(
                "parted-attributes",
                "an intruder knows of a person only attributes that were parted from what they look for",
                "custodian",
            ),
            _premise(
                "nothing-of-others",
                "the intruder knows nothing of the others in the group, nor of dependences",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "bucket-closeness",
        "Groups whose counts lie between two bounds are t-close",
        "SC13 section 7.2; the bounds as a flow: Shoal",
        "If every group of s records has of every bucket with the share p between ceil(s p/t) and floor(s p t) records, then the "
        "ratio distance of every group from the table is at most t, and so is that of every attribute whose bucket the joint one "
        "decides. Such counts exist for all groups exactly where the program finds them.",
        (
            _premise(
                "groups-of-k",
                "every group has at least k records",
                "shoal.anonymize.method.t_closeness.Bucketization",
            ),
            _ONE_RECORD,
            _premise(
                "counts-within-bounds",
                "the counts of every group lie within their bounds",
                "shoal.anonymize.method.t_closeness.Bucketization",
            ),
            _premise(
                "bucket-of-value",
                "a bucket is a function of the value, and what is published is the bucket",
                "shoal.anonymize.cluster.bucket.buckets.RankedColumn",
            ),
        ),
    ),
    Theorem(
        "anatomy-diversity",
        "Groups in which no value is frequent",
        "Xiao and Tao 2006",
        "If no confidential value has more than the share 1/l of n records, they can be divided into floor(n/l) groups of at "
        "least l records with different values; joined with each other, groups keep every share at 1/l or less.",
        (
            _premise(
                "eligible-values",
                "no confidential value has more than the share 1/l of the records",
                "shoal.anonymize.cluster.anatomy.refuse_ineligible",
            ),
            _premise("groups-of-k", "every group has at least k records", "shoal.anonymize.method.anatomy.Anatomy"),
            _ONE_RECORD,
        ),
    ),
    Theorem(
        "knowledge-gain",
        "What an intruder learns from groups that look like the table",
        "SC13 section 7.3, restated",
        "If, given what was published, all assignments of a group's entries to its members are equally likely to an intruder, "
        "then a person has a value with the probability that is its share in the group: at most t times, and at least 1/t times, "
        "its share in the table where groups are t-close by the ratio distance; and a given entry is the person's own with "
        "probability 1/k at most.",
        (
            _premise(
                "close-groups",
                "every group is t-close by the ratio distance",
                "shoal.anonymize.method.t_closeness.Bucketization",
            ),
            _ONE_RECORD,
            _premise(
                "marginal-prior",
                "the intruder's belief beforehand is the table's marginal distribution",
                "custodian",
            ),
            _premise(
                "equal-assignments",
                "all assignments of a group's entries to its members are equally likely to the intruder, who knows nothing of "
                "the others in it and does not reason from who was grouped with whom",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "knowledge-refinement",
        "A prior refined by the true answer",
        "SC13 Propositions 2 and 3 and Algorithm 5.1, with the errata below",
        "Raising a prior by alpha_u near the true answer and lowering it by alpha_d elsewhere, to a total of exactly one, and "
        "drawing one value is epsilon-DP: for a question about one person (add_remove, an absent person gives the prior) if "
        "e^-epsilon <= alpha_d and alpha_u <= e^epsilon, for any question if alpha_u/alpha_d <= e^epsilon.",
        (_FACTORS, _TOTAL, _PRIOR, _PRIOR_FIXED, _ONE_PERSON),
    ),
    Theorem(
        "knowledge-refinement-delta",
        "A refinement that moves a little mass to the answer",
        "SC13 section 5.2, with the masses corrected",
        "Moving delta e^-epsilon (a question about one person) or delta/(1 + e^epsilon) (any question) of a refined "
        "distribution from the farthest values to the nearest is (epsilon, delta)-DP.",
        (_FACTORS, _MOVED, _PRIOR, _PRIOR_FIXED, _ONE_PERSON),
    ),
)

_NOISE = (
    Theorem(
        "laplace-grid",
        "Laplace noise on a grid",
        "Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009",
        "Rounding each component to its grid and adding two-sided geometric noise of scale T/epsilon is epsilon-DP, with T the "
        "L1 sensitivity of the rounded components.",
        (
            _premise(
                "noise-scale",
                "the scale is at least the L1 sensitivity over epsilon",
                "shoal.mechanism.laplace.Laplace",
            ),
            _premise(
                "multiples",
                "answers are the multiples that they are declared to be",
                "shoal.mechanism.base.check_multiples",
            ),
            _ABOVE_ZERO,
            _DECLARED,
        ),
    ),
    Theorem(
        "gaussian",
        "Gaussian noise on a grid",
        "Canonne, Kamath and Steinke 2020; the half-line as in Balle and Wang 2018",
        "Discrete Gaussian noise is (epsilon, delta)-DP with the delta of rho-zCDP for rho = (sum of squared moves)/(2 sigma^2), "
        "and where one unit moves one component alone with the exact sum over a half-line.",
        (
            _premise(
                "noise-delta", "0 < delta < 1, and no less than the delta proved", "shoal.mechanism.gaussian.Gaussian"
            ),
            _DECLARED,
        ),
    ),
    Theorem(
        "exponential-mechanism",
        "One of several options by its score",
        "McSherry and Talwar 2007",
        "If no score moves by more than s, drawing with probability proportional to exp(epsilon score / (2 s)) is epsilon-DP; "
        "s in place of 2 s will do for a score that adding a record never lowers.",
        (
            _premise(
                "no-factor-two",
                "add_remove neighbours where the 2 is left out",
                "shoal.mechanism.exponential.Exponential",
            ),
            _ABOVE_ZERO,
            _premise(
                "options-fixed",
                "the options and the sensitivity of their scores are fixed without the data",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "noisy-tables",
        "Discrete Gaussian noise on tables of counts",
        "Canonne, Kamath and Steinke 2020; the exact curve of many counts is Shoal's",
        "Where one unit changes at most n counts, each by one, independent discrete Gaussian noise of parameter sigma is "
        "dominated in both directions by the pair whose privacy loss is (2 S + n)/(2 sigma^2), S the sum of n such noises, and "
        "the pair is attained; where it changes them by Delta together (root of the sum of squares), it is "
        "Delta^2/(2 sigma^2)-zCDP.",
        (
            _premise("noise-size", "every sigma is at least 0.3", "noise.NoisyTablesDP"),
            _premise(
                "counts-fixed",
                "cells, groups that may be counted and numbers of tables are fixed without the data",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "bounded-range",
        "The exponential mechanism by the range of its losses",
        "Durfee and Rogers 2019; Dong, Durfee and Rogers 2020; Cesar and Rogers 2021",
        "If no score moves by more than s, drawing with probability proportional to exp(epsilon score / (2 s)) has "
        "delta(e) = (exp(epsilon/2) - exp(e/2))^2 / (exp(epsilon) - 1) for e from 0 to epsilon, which no smaller curve covers, "
        "and is epsilon^2/8-zCDP.",
        (_premise("choice-epsilon", "the epsilon of each choice is above 0", "noise.ExponentialDP"),),
    ),
    Theorem(
        "adaptive-tables",
        "Tables that are chosen by what was measured before",
        "Shoal; dominating pairs of Zhu, Dong and Wang 2022, for a loop in the manner of McKenna, Mullins, Sheldon and "
        "Miklau 2022",
        "Measuring tables, computing bins, scores and a model from what is published, choosing further tables by noisy scores or "
        "by the exponential mechanism and measuring those costs what the steps compose to, if their noise was listed in advance; "
        "the number of records is estimated from the noisy tables and costs nothing more.",
        (
            _premise(
                "listed-noise",
                "whatever is decided on the way, the noise of the next step was listed in advance",
                "noisy_counts.CountsSetting.sigma_of",
            ),
            _premise(
                "counts-fixed",
                "cells, groups that may be counted and numbers of tables are fixed without the data",
                "custodian",
            ),
        ),
    ),
    Theorem(
        "staircase",
        "Optimal noise for one number",
        "SC13 Theorem 1, with i from 1; Geng and Viswanath 2014",
        "Density M on [-d, d] and M e^(-i epsilon) on the i-th further interval of length Delta is epsilon-DP for every d; the "
        "least variance and the shortest interval have d in closed form.",
        (
            _premise("inner-width", "0 <= d <= Delta", "shoal.mechanism.staircase.distribution.BoxDistribution"),
            _ABOVE_ZERO,
        ),
    ),
    Theorem(
        "staircase-box",
        "Optimal noise for several numbers at once",
        "SC13 chapter 4; the lattice, the mixture and the exact draw are Shoal's",
        "Noise with weight e^(-i epsilon) on the i-th shell of boxes with half-sides z, z + s, z + 2 s, ... is epsilon-DP if one "
        "unit moves each component by at most s, on the real line and in whole steps of a grid.",
        (
            _premise(
                "sides",
                "sides no shorter than the sensitivity on the grid",
                "shoal.mechanism.staircase.mechanism.Staircase",
            ),
            _premise(
                "inner-box", "0 <= z <= s in whole steps", "shoal.mechanism.staircase.distribution.LatticeDistribution"
            ),
            _ABOVE_ZERO,
            _DECLARED,
        ),
    ),
    Theorem(
        "answer-sensitivity",
        "How far one unit moves an answer",
        "Shoal; SC13 Proposition 4 for disjoint parts",
        "Each row adds a whole number of steps between two ends that the policy fixes, or nothing: so the sensitivity of a sum "
        "is known exactly, and parts or groups that share no row move together no farther than one of them (two, for "
        "replace_one).",
        (
            _premise(
                "bounded-domain",
                "what is added has a declared, bounded domain",
                "shoal.language.condition.ranks.line_of",
            ),
            _premise(
                "bounded-arithmetic",
                "arithmetic has values between two ends, and divides by nothing that may be 0",
                "shoal.language.arithmetic.Quotient",
            ),
            _premise(
                "disjoint-groups",
                "each row lies in one cell of the attributes that are grouped by",
                "shoal.language.cells.TableAxis",
            ),
            _premise(
                "disjoint-parts",
                "the conditions of disjoint parts share no row, by themselves",
                "shoal.language.condition.predicate.Predicate.is_disjoint_from",
            ),
            _premise(
                "bounded-rows", "at most max_rows rows of each person, chosen once", "shoal.query.dataset.bound_rows"
            ),
            _premise(
                "fixed-total",
                "a fixed total: one row is replaced, and every row takes part",
                "shoal.mechanism.fixed_total.FixedTotalNoise",
            ),
        ),
    ),
    Theorem(
        "quantile-score",
        "A score of values by their rank",
        "Shoal",
        "For q = a/b, score(v) = -max((b-a)#(x<v) - a#(x>=v), a#(x>v) - (b-a)#(x<=v), 0) moves by at most max(a, b-a) when "
        "a row comes or goes and by at most b when it is replaced; over groups of rows, by at most 2 max(a, b-a) in all. Moved "
        "by what the score can be off, a choice lies on its side of every quantile as often as stated.",
        (
            _premise(
                "quantile-share",
                "q is a share with a denominator of at most a million",
                "shoal.query.questions.quantile.Quantile",
            ),
        ),
    ),
)
"""Laplace, Gaussian, exponential, staircase; tables of noisy counts; sensitivities of answers."""

_ORDERS_FIXED = _premise(
    "orders-fixed",
    "orders, steps and taxonomies follow from declared domains alone",
    "shoal.anonymize.cluster.lattice.lattice_of",
)
_DOMAINS_FIXED = _premise("domains-fixed", "the domains were declared without the data", "custodian")
_PUBLIC_NUMBER = _premise(
    "public-number",
    "neighbours replace one record, and the number of records is public",
    "centroids.CentroidSetting",
)
_RECORDS_AS_DECLARED = _premise(
    "declared-number",
    "the table has as many records as declared",
    "shoal.anonymize.method.dp_microaggregation.DPMicroaggregation",
)
_CENTROID_NOISE = _premise(
    "centroid-noise", "the noise is no smaller than these bounds ask for", "centroids.CentroidSetting"
)
_CENTROID_PREMISES = (
    _PUBLIC_NUMBER,
    _RECORDS_AS_DECLARED,
    _ONE_RECORD,
    _ORDERS_FIXED,
    _DOMAINS_FIXED,
    _CENTROID_NOISE,
)

_CENTROIDS = (
    Theorem(
        "insensitive-centroids",
        "How far one record moves the sums of insensitive clusters",
        "SC13 Propositions 6 and 7; the bounds on all sums together are Shoal's",
        "Clusters that are the k smallest of what is left by orders fixed in advance change by at most one record each when one "
        "record is replaced. So the sums of attribute j over all N clusters move by at most W_j each, by N W_j in L1 and by "
        "sqrt(N) W_j in L2; and one record can move every one of them.",
        _CENTROID_PREMISES,
    ),
    Theorem(
        "ordered-centroids",
        "Sums along a single order, as differences of partial sums",
        "Shoal; the clusters are those of SC13 Proposition 6",
        "With one order for all clusters, the N + 1 partial sums of attribute j move, up to one constant that no difference "
        "shows, by at most W_j/2 each (rounded up), by W_j floor((N + 1)/2) in L1 and by about sqrt(N + 1) W_j/2 in L2. So the "
        "differences of noisy partial sums keep what noise for these bounds keeps.",
        _CENTROID_PREMISES,
    ),
    Theorem(
        "ranked-centroids",
        "Sums of one attribute by rank",
        "Shoal; individual ranking as in SC13 chapter 2",
        "When one record of a sorted column is replaced, the sums of its runs of k all move the same way and by its own change "
        "together: L1 and L2 are at most W. It does not extend to columns joined by record.",
        _CENTROID_PREMISES,
    ),
    Theorem(
        "taxonomy-choices",
        "A concept for each cluster by the exponential mechanism",
        "SC13 Algorithm 6.3, with the spread of scores in place of the boundary distance; McSherry and Talwar 2007",
        "If one replaced value moves the difference of any two concepts' scores by at most R, drawing a concept with probability "
        "proportional to exp(epsilon score / R) is epsilon-DP and epsilon^2/8-zCDP for one cluster; N clusters that one record "
        "can all change cost N times as much.",
        _CENTROID_PREMISES,
    ),
    Theorem(
        "per-record-centroids",
        "What noise for one cluster at a time gives",
        "SC13 chapter 6; the cost of all clusters is Shoal's",
        "Laplace noise of scale W_j/epsilon on each cluster's sum hides what one record does to one cluster and one attribute at "
        "epsilon. It is N m epsilon-DP for the data set of N clusters and m attributes (m epsilon by ranks), and for m from 2 up "
        "tables come as close to that as their grid is fine: parallel composition does not apply, because one record changes "
        "every cluster.",
        _CENTROID_PREMISES,
    ),
)
"""Noisy centroids of clusters."""

THEOREMS: dict[str, Theorem] = {entry.name: entry for entry in (*_ALL, *_NOISE, *_CENTROIDS)}
"""All of them by name."""


def theorem(name: str) -> Theorem:
    """The theorem of a name; KeyError for a name that is not in the registry.

    >>> theorem("safe-k-tight").citation
    'Shoal; sharpens LQS11 Theorem 5'
    """
    return THEOREMS[name]
