"""A configuration as dataclasses, a section each. Made from config/config.schema.json by python/generate_config.py: do not edit.

What is None is left out, and the program chooses; `rldp.check` says what and why.

>>> config = Config(privacy=Privacy(epsilon=2), train=Train(steps=60))
>>> config.model.path = "path/to/a/model"
>>> config.to_dict()
{'privacy': {'epsilon': 2}, 'train': {'steps': 60}, 'model': {'path': 'path/to/a/model'}}
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._sections import Section


@dataclass
class PrivacyRisk(Section):
    """Section privacy.risk of a configuration."""

    fpr: float | None = None
    """With privacy.risk.tpr: how often an attacker who asks whether a unit was in the data may be wrong about one that
    was not, such as 0.01. Takes > 0, < 1."""
    tpr: float | None = None
    """How often he is then right about one that was, at most, such as 0.05: privacy.epsilon is lowered until that
    holds. Takes > 0, < 1."""


@dataclass
class Privacy(Section):
    """Section privacy of a configuration."""

    epsilon: float | None = None
    """ε of the contract. Takes > 0. Default: 8.0."""
    delta: float | None = None
    """δ of the contract; well below 1/N, or the contract says little. Takes > 0, < 1. Default: 1e-05."""
    accountant: Literal["pld", "rdp", "gdp_clt"] | None = None
    """Enforces the budget; pld is the tightest bound, gdp_clt is no bound and serves as_published only. Default:
    "pld"."""
    risk: PrivacyRisk = field(default_factory=PrivacyRisk)
    semantics: Literal["sound", "as_published"] | None = None
    """sound keeps the contract; as_published reproduces the publication and guarantees nothing. Default: "sound"."""
    unit: Literal["record"] | dict[str, Any] | None = None
    """Whose presence is hidden: one record, or all records that share the column, such as a patient's. Default:
    "record"."""
    population: int | None = None
    """N, declared as a public constant; the sampling rate is expected_batch_size/N. Unit: units. Takes ≥ 1, ≤ 1e+12."""
    max_records_per_unit: int | None = None
    """Of a group unit with more records, a fixed subset of so many is trained on: the work per unit is bounded. Unit:
    records. Takes ≥ 1, ≤ 65536. Default: 16."""
    pad_batches: bool | None = None
    """Every step computes the same public number of micro-batches, dummy rows included, so that its duration tells
    nothing of the draw. Default: false."""
    acknowledge_no_guarantee: bool | None = None
    """as_published runs only where this is true. Default: false."""
    accept_large_delta: bool | None = None
    """A δ of 1/N or more, which would let one record be published outright, runs only where this is true. Default:
    false."""
    book: str | None = None
    """The budget book of the population (rldp book), in which all runs on its data add up: by a name of letters,
    digits, '.', '_' and '-'; by a directory's path, which has a '/'; found: the book whose data are like these,
    else a new one; none: nothing keeps count."""
    runs: int | None = None
    """The contract is for so many runs of this plan together, and the noise of each is what that takes: those of a
    tuning, which `rldp tune` makes. Unit: runs. Takes ≥ 1, ≤ 100. Default: 1."""


@dataclass
class NoiseDeck(Section):
    """Section noise.deck of a configuration."""

    levels: int | None = None
    """Distinct noise levels of the deck. Unit: levels. Takes ≥ 1, ≤ 256. Default: 8."""
    ratio: float | None = None
    """Largest over smallest noise multiplier of the deck. Takes ≥ 1, ≤ 100. Default: 1.25."""


@dataclass
class Noise(Section):
    """Section noise of a configuration."""

    policy: Literal["fixed", "deck", "filter"] | None = None
    """How the budget is spent: the same noise at each step, a deck of levels played in the controller's order, or free
    levels under a Rényi filter. Where the published controller does not steer it is fixed."""
    allocation: Literal["shares", "proportional", "uniform", "min_variance"] | None = None
    """How the gradient's noise is divided among the adapters."""
    statistics_share: float | None = None
    """Part of 1/z² spent on the statistics that rldp's controller sees, or, at every tenth step, on the losses by
    which hyfreedp sets the learning rate; other methods have none. Takes ≥ 0, < 1."""
    bands: int | None = None
    """Noise is correlated over so many steps, so that later ones take back a part of what earlier ones added; each
    unit is drawn at every so many'th step only. 1: independent noise. noise.policy fixed alone. Unit: steps. Takes
    ≥ 1, ≤ 1024."""
    insecure_reproducible: bool | None = None
    """Draws, dropout and noise follow from the seed: for tests, no guarantee. Default: false."""
    deck: NoiseDeck = field(default_factory=NoiseDeck)


@dataclass
class Clip(Section):
    """Section clip of a configuration."""

    groups: Literal["adapters", "factors", "flat"] | None = None
    """What is clipped as one: each adapter on its own, all A matrices and all B matrices, or the whole gradient."""
    initial: float | None = None
    """Every radius at the first step. Unit: gradient norm. Takes ≥ 1e-08, ≤ 100000000."""
    min: float | None = None
    """No radius goes below. Unit: gradient norm. Takes ≥ 1e-08, ≤ 100000000. Default: 0.001."""
    max: float | None = None
    """No radius goes above. Unit: gradient norm. Takes ≥ 1e-08, ≤ 100000000. Default: 1.0."""


@dataclass
class Public(Section):
    """Section public of a configuration."""

    path: str | None = None
    """Records that need no protection, of the private ones' kind: an adapter is trained on them beforehand, without
    noise. Refused where it shares a record with data.path. template:N makes up N rows of what data.template's
    schema declares: they teach how a row is told."""
    use: list[Literal["warm_start", "radii", "choose"]] | None = None
    """What that is good for: training starts from that adapter; the medians of public gradient norms become rldp's
    radii, in place of private ones; of the last iterate and the average, the one is kept on which 64 public records
    lose less. Default: ["warm_start"]."""
    steps: int | None = None
    """Length of the training on them. Unit: steps. Takes ≥ 1, ≤ 10000000. Default: 100."""
    lr: float | None = None
    """AdamW's learning rate in it, the same at every step. Takes > 0, ≤ 10."""


@dataclass
class Method(Section):
    """Section method of a configuration."""

    name: Literal["rldp", "static", "adaclip", "autoclip_quantile", "auto_s", "dcsgd_p", "dcsgd_e", "geoclip", "psac", "dp_lora", "dp_lora_literal", "dp_adambc", "scale_first", "hyfreedp"] | None = None
    """rldp may have a controller, by rl.state; the others are published baselines. Default: "rldp"."""
    quantile: float | None = None
    """autoclip_quantile and dcsgd_p: the fraction of units whose gradient lies within the radius. Takes > 0, < 1."""
    query_noise: float | None = None
    """Standard deviation of the noise on the count of units within the radius (autoclip_quantile), or on each of the
    histogram's 20 counts (dcsgd_p, dcsgd_e); charged jointly with the gradient. Unit: units. Takes > 0."""
    stabiliser: float | None = None
    """γ of auto_s and hyfreedp, r of psac: what keeps the weight of the smallest gradients finite. dp_adambc: the
    least root of a second moment without its noise, in standard deviations of that noise. scale_first: the least
    scale, relative to the root mean square. Unit: gradient norm. Takes > 0."""
    rank: int | None = None
    """geoclip: directions per adapter whose variance is tracked on its own; 0 tracks one number per adapter. Takes ≥
    0, ≤ 64."""


@dataclass
class Train(Section):
    """Section train of a configuration."""

    epochs: float | None = None
    """Length of the run as expected passes over the training units; not together with steps. Unit: epochs. Takes > 0,
    ≤ 1000000."""
    steps: int | None = None
    """Length of the run; not together with epochs. Unit: steps. Takes ≥ 1, ≤ 10000000."""
    expected_batch_size: int | None = None
    """B: every unit is drawn with probability B/N at each step. Unit: units. Takes ≥ 1, ≤ 8388608."""
    micro_batch: int | None = None
    """Records that are computed at a time, each unit's in passes of its own (on a CUDA device in float32 together);
    memory grows with it. With at least as many as there are threads, that many units are computed abreast. Unit:
    records. Takes ≥ 1, ≤ 65536."""
    parameters: list[str] | None = None
    """What is trained whole, in float32, instead of LoRA adapters: all, bias, norm, embedding, a role (o, fc, …), the
    end of a module's name, or a regular expression for the whole name. Needs train.lr."""
    optimizer: Literal["adamw", "dog", "prodigy", "mechanic", "hypergradient"] | None = None
    """What takes the steps. dog, prodigy and mechanic find their learning rate themselves and take no train.lr;
    hypergradient moves AdamW's. They go without a controller (docs/methods.md). Default: "adamw"."""
    lr: float | None = None
    """The learning rate after the warm-up, of adamw and hypergradient. Takes > 0, ≤ 10."""
    warmup: int | None = None
    """The learning rate rises linearly over these steps. Unit: steps. Takes ≥ 0, ≤ 10000000."""
    schedule: Literal["constant", "linear", "cosine", "wsd"] | None = None
    """The learning rate after the warm-up: it stays; falls to final_lr in a straight line or along half a cosine;
    stays, and falls over the last decay steps."""
    final_lr: float | None = None
    """Where a falling rate ends, behind the last step. Takes ≥ 0, ≤ 10. Default: 0.0."""
    decay: int | None = None
    """Of wsd: over how many it falls. Unit: steps. Takes ≥ 1, ≤ 10000000."""
    average: Literal["none", "ema", "tail"] | None = None
    """What is evaluated and saved: the last iterate, an exponential moving average, or the mean of the last ones.
    Gradients are taken at the last iterate. Default: "none"."""
    average_window: float | None = None
    """How far the average reaches back. Unit: share of the steps. Takes > 0, ≤ 1. Default: 0.2."""
    value_weight: float | None = None
    """Of tokens that carry a value of the table, in a record's mean loss; the template's own weigh 1. Takes > 0, ≤
    1000."""
    eval_every: int | None = None
    """Steps between checkpoints; with eval.publish raw or none held-out units are evaluated then, too, before the
    first step, after each pass over the data (N/B steps) and at the end. Unit: steps. Takes ≥ 1, ≤ 10000000."""
    eval_records: int | None = None
    """About so many held-out units are looked at: those whose hash lies below a share of the expected number. Unit:
    units. Takes ≥ 1, ≤ 1e+12."""


@dataclass
class Data(Section):
    """Section data of a configuration."""

    path: str | None = None
    """The records: a CSV table, JSONL or text with one record per line; - for rows through a pipe, from standard
    input; or synthetic:N for N made-up encounters, synthetic:N@WORLD from a world where the same values have other
    frequencies."""
    ids_mapping: str | None = None
    """Names of the coded columns of the UCI diabetes table."""
    template: str | None = None
    """Turns a row of a table into prose."""
    chat: bool | None = None
    """Records are conversations: JSON lines whose "messages" (role and content) the model's own chat template writes;
    only the assistant's answers are learned. Default: false."""
    max_tokens: int | None = None
    """Longer records are cut. Unit: tokens. Takes ≥ 2, ≤ 16777216."""
    keep: Literal["head", "tail"] | None = None
    """Which part of a record that is cut remains. Default: "head"."""
    canaries: int | None = None
    """Training records that get a secret appended, for extraction attacks. Unit: records. Takes ≥ 0, ≤ 1000000.
    Default: 0."""
    canary_length: int | None = None
    """Length of those secrets, of A-Z and 0-9; up to 3, an audit ranks a secret among all that exist. Unit:
    characters. Takes ≥ 1, ≤ 10. Default: 10."""
    split: Literal["hash", "exact"] | None = None
    """Sides by a keyed hash per unit, or exact shares of a shuffled table (the contract is then conditional on the
    split). Default: "hash"."""
    split_seed: int | None = None
    """Public randomness of the split. Takes ≥ 0. Default: 42."""
    cache: str | None = None
    """Where the tokens of the records are kept, sealed, for runs to come on the same file; none: in memory only."""


@dataclass
class Model(Section):
    """Section model of a configuration."""

    path: str | None = None
    """A Hugging Face directory: config.json, model.safetensors, tokenizer. Or a GGUF file, which holds all three."""
    name: str | None = None
    """What others call it, such as HuggingFaceTB/SmolLM2-135M: the adapter names it as its base, and PEFT loads it by
    that."""
    dtype: Literal["float32", "tf32", "bfloat16"] | None = None
    """Type of the frozen weights; tf32 is float32 with the products of a CUDA device in TensorFloat-32. Default:
    "float32"."""
    quantize: Literal["none", "nf4", "int8", "q4_0", "q4_1", "q8_0"] | None = None
    """Holds the weights of linear modules in blocks of 4 or 8 bits, made of the model's numbers as they are read: nf4
    as in QLoRA, int8 as bitsandbytes has it, q4_0, q4_1 and q8_0 as in GGUF files. Adapters, norms, embedding and
    head stay as they are. Models that are quantized already are read as they are. Default: "none"."""
    checkpoint_activations: bool | None = None
    """Keeps only the input of each layer for the backward pass and computes the rest again: less memory for about a
    third more time, and the same numbers. Default: false."""
    shard: bool | None = None
    """For bases larger than one rank's memory: each of a run's ranks (rldp run --workers, or a launcher's) holds its
    share of the layers. It borrows the others, one ahead of their use. With one thread a rank the numbers are the
    same to the last bit."""


@dataclass
class Lora(Section):
    """Section lora of a configuration."""

    rank: int | None = None
    """Rank of every adapter. Takes ≥ 1, ≤ 65536. Default: 8."""
    alpha: float | None = None
    """An adapter's output is scaled by alpha/rank. Takes > 0. Default: 16.0."""
    dropout: float | None = None
    """Dropout of an adapter's input. Takes ≥ 0, < 1. Default: 0.05."""
    targets: list[str] | None = None
    """The linear modules that get an adapter: q, k, v, o, all-linear, the end of a module's name, or a regular
    expression for the whole name."""


@dataclass
class Eval(Section):
    """Section eval of a configuration."""

    target: str | None = None
    """A column whose value is guessed in held-out records at the end: every class is put in its place, and scored. AUC
    and accuracy are for the owner alone unless eval.publish is raw."""
    classes: list[str] | None = None
    """The values of eval.target, as records tell them: each look then tells the accuracy, too."""
    publish: Literal["private", "none", "raw"] | None = None
    """What goes out of held-out units: a few looks with noise, priced like training, so that they are protected as
    training units are; nothing; or exact figures, and then nothing protects them. Exact figures are always in
    trusted/, for the owner. Default: "private"."""
    looks: int | None = None
    """How often held-out units are looked at, of eval.publish private: at the start, at the end and between. More
    looks have more noise each. Takes ≥ 1, ≤ 100. Default: 3."""
    clip: float | None = None
    """How far a held-out unit's mean loss may lie from where it is expected before it is drawn nearer; the noise of a
    look grows with it. Unit: nats per token. Takes > 0, ≤ 1000."""


@dataclass
class Rl(Section):
    """Section rl of a configuration."""

    state: Literal["published", "prepared", "schedule"] | None = None
    """Who steers. prepared: a policy that was prepared on made-up tasks sets learning rates by what the releases show.
    schedule: nobody; the run is that of method static. published: the publication's controller, which learns in the
    run from statistics that are paid for."""
    controller: str | None = None
    """The policy of rl.state prepared. It brings a schedule and an average of its own, around the mean rate train.lr."""
    signer: str | None = None
    """Whose signature rl.controller must bear."""
    actions: list[Literal["radii", "noise", "shares", "lr"]] | None = None
    """What the controller sets; shares needs noise.allocation shares. Default: ["radii", "noise"]."""
    policy: Literal["learned", "frozen", "random", "shuffled", "deaf"] | None = None
    """learned improves while the run goes on, or is what preparation learned; by name, a prepared policy steers also
    where nobody vouches for it. Controls for experiments: frozen stays as it was initialised, or is the schedule of
    the preparation alone; random draws every action from a standard normal, or tosses the direction of each of a
    prepared policy's moves; shuffled shows that policy what a block drawn from those so far showed, and deaf sets
    what it set in its preparation, on average, by then."""
    online: bool | None = None
    """What the prepared policy adds to its rule goes on learning in the run (SAC), while steps are made, from the loss
    on 64 public records after each block; needs public.path. An experiment. Default: false."""
    radius_scale: float | None = None
    """In the warm-up, and under clip_action delta, radii are relative to so many medians of the gradient norms. Takes
    > 0, ≤ 100."""
    rescale: bool | None = None
    """Each group's released sum is divided by its radius, so that AdamW, whose memory is long, sees one scale while
    radii change."""
    interval: int | None = None
    """T_RL: steps between decisions. Unit: steps. Takes ≥ 1, ≤ 10000000."""
    warmup: int | None = None
    """T_warm: no decision before; afterwards the radii start from the released medians. Unit: steps. Takes ≥ 0, ≤
    10000000."""
    batch: int | None = None
    """B_SAC: transitions per update. Unit: transitions. Takes ≥ 1, ≤ 65536. Default: 4."""
    updates: int | None = None
    """K: rounds of updates after each decision. Takes ≥ 1, ≤ 1000. Default: 2."""
    gamma: float | None = None
    """Discount of later rewards. Takes ≥ 0, < 1. Default: 0.99."""
    alpha: float | None = None
    """Temperature: weight of the policy's entropy. Takes ≥ 0, ≤ 1000. Default: 0.04."""
    tau: float | None = None
    """Rate at which the target critics follow (Polyak). Takes > 0, ≤ 1. Default: 0.01."""
    actor_lr: float | None = None
    """The actor's learning rate. Takes > 0, ≤ 1. Default: 0.0002."""
    critic_lr: float | None = None
    """The critics' and the encoder's learning rate. Takes > 0, ≤ 1. Default: 0.0001."""
    replay: int | None = None
    """The oldest transition goes first. Unit: transitions. Takes ≥ 1, ≤ 10000000. Default: 10000."""
    reward_floor: float | None = None
    """R_max: rewards below its negative are raised to it. Takes > 0. Default: 10.0."""
    clip_action: Literal["absolute", "delta"] | None = None
    """Radii from the action alone (published), or relative to the tracked medians. Default: "delta"."""


@dataclass
class Audit(Section):
    """Section audit of a configuration."""

    canaries: int | None = None
    """m: made-up records of a secret each, which join the training units with probability ½, so that the run can be
    audited for a lower bound on ε. Unit: records. Takes ≥ 0, ≤ 1000000. Default: 0."""
    gradient_canaries: int | None = None
    """The same with units whose gradients are random directions larger than any radius: a stronger test, of what sees
    every release. Unit: units. Takes ≥ 0, ≤ 1000000. Default: 0."""
    guesses: int | None = None
    """r, even: the audit takes so many guesses at who was in, half in and half out, and abstains on the others. Unit:
    canaries. Takes ≥ 2, ≤ 1000000."""
    look_canaries: int | None = None
    """The same with units that are made up for looks at held-out units (eval.publish private), each with probability
    one half: a test of the looks' noise. Unit: units. Takes ≥ 0, ≤ 64. Default: 0."""
    confidence: float | None = None
    """Of the lower bound on ε, over both kinds of canaries together. Takes > 0, < 1. Default: 0.95."""
    targets: int | None = None
    """Membership is guessed of so many training units and as many Attack units. Unit: units. Takes ≥ 1, ≤ 1e+12.
    Default: 1000."""
    ending: str | None = None
    """Where a record's ending begins, whose likelihood tells members; records without it are left out."""
    prompt: str | None = None
    """The extraction attack's instruction, with {profile} where the record goes."""
    trials: int | None = None
    """Generations of the extraction attack. Unit: texts. Takes ≥ 1, ≤ 10000000. Default: 4000."""
    references: int | None = None
    """Made-up secrets that exposure compares a canary with, where not all that exist can be. Unit: secrets. Takes ≥
    20, ≤ 1000000. Default: 1000."""
    shadow: int | None = None
    """Makes this a shadow run of that number: every target is in training with probability ½. Takes ≥ 0, ≤ 1000000."""


@dataclass
class Monitor(Section):
    """Section monitor of a configuration."""

    address: str | None = None
    """Where rldp monitor can attach."""
    http: str | None = None
    """Where the run shows itself to browsers; an address beyond this machine needs TLS and tokens."""
    tls_certificate: str | None = None
    """The dashboard's certificate (rldp key new --tls HOST)."""
    tls_key: str | None = None
    """The certificate's key."""
    client_ca: str | None = None
    """Only browsers whose certificate this one has signed are let in."""
    token_file: str | None = None
    """Tokens of viewers and operators (rldp key new --tokens); an operator's may stop the run."""
    allow_hosts: list[str] | None = None
    """Other names that the dashboard is called by, as behind a proxy. Default: ["localhost"]."""
    tensorboard: bool | None = None
    """Also writes public/tensorboard, scalars as TensorBoard reads them. Default: false."""


@dataclass
class Cluster(Section):
    """Section cluster of a configuration."""

    secret: str | None = None
    """What the ranks of a run have in common and nobody else (rldp key new --cluster)."""
    timeout: int | None = None
    """A rank that is silent for so long ends the run on all of them; it can be resumed. Unit: seconds. Takes ≥ 5, ≤
    86400. Default: 60."""


@dataclass
class Run(Section):
    """Section run of a configuration."""

    name: str | None = None
    """What to call the run in reports, lists, the dashboard and its certificate. Public, as the next two are."""
    tags: list[str] | None = None
    """By which lists of runs can be told apart."""
    notes: str | None = None
    """What its report should say of it."""
    date: str | None = None
    """Of the report. When a run ends is not public, for that may depend on the records."""


@dataclass
class Config(Section):
    """A configuration of RLDP."""

    privacy: Privacy = field(default_factory=Privacy)
    noise: Noise = field(default_factory=Noise)
    clip: Clip = field(default_factory=Clip)
    public: Public = field(default_factory=Public)
    method: Method = field(default_factory=Method)
    train: Train = field(default_factory=Train)
    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    lora: Lora = field(default_factory=Lora)
    eval: Eval = field(default_factory=Eval)
    rl: Rl = field(default_factory=Rl)
    audit: Audit = field(default_factory=Audit)
    monitor: Monitor = field(default_factory=Monitor)
    cluster: Cluster = field(default_factory=Cluster)
    run: Run = field(default_factory=Run)
    device: str | None = None
    """Where the model computes; of several ranks each takes its own, so there without a number. Default: "cpu"."""
    seed: int | None = None
    """Public randomness: adapter initialisation, the controller's exploration. Takes ≥ 0. Default: 42."""
