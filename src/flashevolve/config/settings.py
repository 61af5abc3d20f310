"""Settings: everything that a configuration file, the command line or Python can set.

Frozen and checked: an instance that exists holds only values in range. Derived values (a default
that follows another field) are properties, never stored, so that changing `concurrency` on resume
changes what follows from it. Validators are built on first use, which halves the cost of
importing this module. The docstring under each field is the help text of `flashevolve config`.
"""

from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl, urlsplit

from annotated_types import Ge, Gt, Le, Len, MinLen
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic.dataclasses import dataclass

from flashevolve.config.explain import explain
from flashevolve.errors import ConfigError
from flashevolve.llm.secrets import HIDDEN, holds_secret
from flashevolve.templates import own_template

T = TypeVar("T")

Count = Annotated[int, Strict(), Gt(0)]
Amount = Annotated[float, Strict(), Gt(0), Field(allow_inf_nan=False)]
NonNegative = Annotated[float, Strict(), Ge(0), Field(allow_inf_nan=False)]
Finite = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Name = Annotated[str, MinLen(1)]


class OneLine(type):
    """Makes the constructor of a pydantic dataclass raise `ConfigError` instead of a report.

    A wrapped `__init__` would not do: pydantic replaces it when it builds the validator.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Constructs an instance."""
        try:
            return super().__call__(*args, **kwargs)
        except ValidationError as error:
            raise explain(error, where=cls.__name__, known=field_names(cls)) from None


def field_names(cls: Any) -> tuple[str, ...]:
    """Returns the names of the fields of a pydantic model or dataclass."""
    fields = getattr(cls, "model_fields", None) or getattr(cls, "__dataclass_fields__", {})
    return tuple(fields)


def _endpoint(url: str | None) -> str | None:
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("expected an http or https URL such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc or any(holds_secret(name) for name, _ in parse_qsl(parts.query)):
        raise ValueError("expected a URL without a key or password in it; use key_env instead")
    return url


def _variable(name: str | None) -> str | None:
    plain = (name or "").replace("_", "")
    if name and not (plain.isascii() and plain.isalnum() and name == name.upper()):
        raise ValueError(
            "expected the name of an environment variable in capitals, such as OPENAI_API_KEY; "
            "the key itself belongs into that variable, never into a configuration"
        )
    return name or None


def _client(given: Any) -> Any:
    if given is not None and not all(callable(getattr(given, m, None)) for m in CLIENT_METHODS):
        raise ValueError(
            "expected an object with `async complete(request)` and `async close()`, given from "
            "Python; a configuration file names a model by name and base_url"
        )
    return given


CLIENT_METHODS = ("complete", "close")
"""What `llm.model.ChatModel` asks of an implementation."""


def _not_hidden(table: dict[str, T]) -> dict[str, T]:
    for name, value in table.items():
        if value == HIDDEN:
            raise ValueError(f"the value of {name!r} was not recorded with the run; give it again")
        if isinstance(value, dict):
            _not_hidden(value)
    return table


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Price(metaclass=OneLine):
    """What a model costs."""

    _: KW_ONLY
    input_usd_per_mtok: NonNegative
    """Dollars for a million input tokens."""
    output_usd_per_mtok: NonNegative
    """Dollars for a million output tokens, reasoning included."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Model(metaclass=OneLine):
    """A model, where it is served, and how to ask it."""

    name: Name
    """The model's name: as the endpoint knows it, or with a provider in front
    (openai/gpt-4o-mini, openrouter/..., ollama/..., sim/h100-qwen3-8b, sim/hosted-api)."""
    _: KW_ONLY
    base_url: Annotated[str | None, AfterValidator(_endpoint)] = None
    """Address of an OpenAI-compatible endpoint; "" or absent = the provider's own."""
    key_env: Annotated[str | None, AfterValidator(_variable)] = None
    """Environment variable that holds the key; absent = the provider's usual one."""
    timeout_s: Amount = 600.0
    """Seconds that one request may take."""
    max_output_tokens: Count = 8192
    """Longest answer in tokens; also what a token or money budget reserves for each request."""
    temperature: Annotated[float | None, Strict(), Ge(0), Le(2)] = None
    """Sampling temperature, 0 to 2; absent = the endpoint's default."""
    reasoning_effort: str | None = None
    """Effort of a reasoning model, in the endpoint's words (low, medium, high)."""
    extra_body: Annotated[dict[str, Any], AfterValidator(_not_hidden)] = field(default_factory=dict)
    """More fields for the request's body; spelled as the endpoint wants them."""
    extra_headers: Annotated[dict[str, str], AfterValidator(_not_hidden)] = field(
        default_factory=dict, repr=False
    )
    """More headers for the request; their values are never recorded."""
    price: Price | None = None
    """What it costs; absent = looked up in the price list that comes with flashevolve."""
    weight: Amount = 1.0
    """Share of the requests where a role has several models."""
    send_seed: bool = False
    """Whether to send a seed with each request, for endpoints that honour it."""
    client: Annotated[Any, AfterValidator(_client), Field(exclude=True)] = field(
        default=None, repr=False, compare=False
    )
    """From Python only: a `flashevolve.llm.model.ChatModel` that answers instead of an endpoint."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", defer_build=True))
class Budget(metaclass=OneLine):
    """What a run may spend; at least one limit is needed. Never overshot, but for `seconds`."""

    _: KW_ONLY
    metric_calls: Count | None = None
    """Evaluations of one artifact on one example."""
    proposals: Count | None = None
    """New artifacts asked from a model."""
    tokens: Count | None = None
    """Input and output tokens of all calls together."""
    usd: Amount | None = None
    """Dollars; needs a known price for every model."""
    seconds: Amount | None = None
    """Wall-clock seconds of evolution, over all processes of the run; scoring on test follows."""
    grace_s: NonNegative = 60.0
    """Seconds after `seconds` in which started evaluations may finish."""

    @property
    def empty(self) -> bool:
        """Whether nothing limits the run."""
        limits = (self.metric_calls, self.proposals, self.tokens, self.usd, self.seconds)
        return all(limit is None for limit in limits)


class Table(BaseModel):
    """A table of the configuration: frozen, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


METRICS = ("exact", "contains", "numeric", "regex", "json")


def _import_path(path: str) -> str:
    module, colon, name = path.partition(":")
    if not (colon and module and name):
        raise ValueError("expected module:function, such as my_agent:run")
    return path


def _metric(name: str) -> str:
    if name not in METRICS and ":" not in name:
        raise ValueError(f"expected one of {', '.join(METRICS)}, or module:function")
    return _import_path(name) if ":" in name else name


class TaskSettings(Table):
    """How an artifact is run on an example, and how its output is scored."""

    workload: str | None = None
    """A built-in task, which brings its own scoring: instructions, instructions-loose,
    instructions-whole, instructions-whole-loose, hotpotqa, hotpotqa-f1, hover, hover-recall,
    hover-label, aime, ifbench, ifbench-loose, ifbench-whole, ifbench-whole-loose, or shape."""
    corpus: Path | None = None
    """For hotpotqa and hover: JSONL file of the passages that are searched, each with title and
    text; absent = the passages that the examples hold."""
    metric: Annotated[str, AfterValidator(_metric)] | None = None
    """How an output is scored: exact, contains, numeric, regex, json, or module:function."""
    run: Annotated[str, AfterValidator(_import_path)] | None = None
    """module:function that runs an artifact on an example; absent = one chat call with the
    artifact as system prompt."""
    input: Name = "input"
    """Field of an example that is the user message, where `run` is absent; a workload has its
    own default, such as "prompt" for instructions."""
    answer: Name = "answer"
    """Field of an example that holds the expected answer."""
    pattern: str | None = None
    """For metric regex: what to look for; group 1, if there is one, is compared with `answer`."""
    fields: tuple[Name, ...] | None = None
    """For metric json: fields to compare; absent = all fields of `answer`."""
    tolerance: NonNegative = 0.0
    """For metric numeric: absolute difference that still counts as equal."""
    failure_score: Finite = 0.0
    """Score of a refused, empty or truncated reply, and of an exception in task code."""
    perfect_score: Finite = 1.0
    """Score that cannot be improved on."""
    replicas: Count = 1
    """Times that a full sweep (validation, test) runs each example; the mean is its score, and each
    time is a metric call. Minibatches run an example once."""
    metered: bool | None = None
    """Whether all model calls of `run` go through flashevolve, so that token and money budgets
    see them; absent = true without `run`, false with it."""

    @property
    def all_metered(self) -> bool:
        """Whether flashevolve sees every model call of the task."""
        return self.run is None if self.metered is None else self.metered


class DataSettings(Table):
    """Where the examples are: three files, or one that is split."""

    train: Path | None = None
    """JSONL, JSON or CSV file whose examples the algorithm learns from."""
    val: Path | None = None
    """JSONL, JSON or CSV file whose examples rank the candidates."""
    test: Path | None = None
    """JSONL, JSON or CSV file on which seed and best are scored once, at the end."""
    path: Path | None = None
    """One JSONL, JSON or CSV file to be split, instead of train, val and test."""
    split: Annotated[tuple[NonNegative, ...], Len(3, 3)] = (0.5, 0.25, 0.25)
    """Shares of train, val and test where `path` is split."""
    split_seed: Annotated[int, Strict()] = 0
    """Same seed, same split, whatever the run's own seed."""
    id: Name = "id"
    """Field that names an example; where it is absent, a hash of the content does. A workload has
    its own default, such as "key" for instructions."""


class Limits(Table):
    """How much runs at once."""

    concurrency: Count = 64
    """C: requests in flight on one account, at most."""
    in_flight: Count | None = None
    """W: steps in flight; absent = concurrency."""
    workers: Count | None = None
    """K: steps that one stage works on at once; absent = in_flight."""
    queue: Count | None = None
    """Items that wait before a stage; absent = twice workers."""
    threads: Count | None = None
    """Threads for user functions that are not async; absent = concurrency."""
    retries: Annotated[int, Strict(), Ge(0)] = 12
    """Times that a request is sent again after a 5xx, a time-out or a lost connection; after a
    429 it is sent again until `retry_total_s`."""
    retry_wait_s: Amount = 1.0
    """Seconds before the first retry, where the endpoint asks for none; it doubles each time, up
    to 60."""
    retry_total_s: Amount = 900.0
    """Seconds after which a request is not sent again; after 429s only the waits are counted."""

    @property
    def max_in_flight(self) -> int:
        """W."""
        return self.in_flight or self.concurrency

    @property
    def max_workers(self) -> int:
        """K."""
        return self.workers or self.max_in_flight

    @property
    def queue_items(self) -> int:
        """Capacity of a queue."""
        return self.queue or 2 * self.max_workers

    @property
    def max_threads(self) -> int:
        """Threads for synchronous user functions."""
        return self.threads or self.concurrency


class ControlSettings(Table):
    """Who decides how many steps run, and how many of them in each stage."""

    mode: Literal["adaptive", "paper", "fixed"] = "adaptive"
    """adaptive: a step begins only while a request could be sent, and workers follow the queues;
    paper: FlashEvolve's rule, workers by the rates of the stages; fixed: nothing changes."""
    window_s: Amount = 60.0
    """Seconds over which paper measures rates."""
    tick_s: Amount = 15.0
    """Seconds between two decisions on workers, at least."""
    k_min: Count = 1
    """Fewest workers that a stage is left with."""
    k_max: Count | None = None
    """Most workers that a stage is given; absent = limits.workers."""
    workers: dict[Name, Count] = Field(default_factory=dict)
    """Workers by stage where they are not limits.workers: for fixed all the time, else to begin
    with."""


REPAIR_PLACEHOLDERS = ("{{stale}}", "{{current}}", "{{updates}}")
"""A repair template without one of these would judge without knowing what."""


def _repair_template(given: str | None) -> str | None:
    return None if given is None else own_template(given, REPAIR_PLACEHOLDERS)


class Staleness(Table):
    """What happens to a step whose base changed while it was in flight."""

    delta_max: Annotated[int, Strict(), Ge(0)] | None = None
    """Largest gap that policy guarded lets pass; absent = half of in_flight."""
    gap: Literal["scoped", "global"] = "scoped"
    """Which updates count: those that touch what the step read, or all."""
    history_tokens: Count = 4000
    """Longest list of updates, in tokens, shown to the repairing model."""
    repair_prompt: Annotated[str | None, AfterValidator(_repair_template)] = None
    """The repair prompt: a template, or the path of one. It must hold {{stale}}, {{current}} and
    {{updates}}, and ask for the same JSON object as the package's own, which absent stands for."""
    repair_batch: Count = 1
    """Most stale steps that one call of policy reflective judges: above 1 they gather while a call
    is under way, until there are so many."""
    history: Literal["full", "none", "shuffled"] = "full"
    """Which updates the repairing model is shown; none (no updates) and shuffled (as many of other
    times) are controls, to be compared with."""
    when: Literal["stale", "always"] = "stale"
    """Which steps past the gate the repairing model is asked about; always (those that are not
    stale too, also under schedule sync) is a control, to be compared with."""


Fraction = Annotated[float, Strict(), Gt(0), Le(1)]


class SpeculationSettings(Table):
    """Which stages go on before all their requests are done; 1 = none."""

    rollout: Fraction = 1.0
    """Fraction of a rollout's examples after which its step goes on, above 0 and up to 1."""
    evaluate: Fraction = 1.0
    """Fraction of a full evaluation after which a candidate that is ahead so far may be built on,
    above 0 and up to 1."""
    confirm: Literal["demote", "mean"] = "demote"
    """What becomes of a candidate that is not ahead in the end: admitted as any other (demote), or
    removed (mean)."""
    reorder: Literal["discriminative", "literal", "none"] = "discriminative"
    """Which examples an evaluation runs first: those on which candidates differ, those not solved
    lately, or the first in the file."""
    window: Count = 3
    """For reorder literal: evaluations in a row that must have solved an example for it to go to
    the end."""


class GatewaySettings(Table):
    """Where clients that user code brings along reach the run's models (`ctx.base_url`)."""

    port: Annotated[int, Strict(), Ge(0), Le(65535)] = 0
    """Port on this machine; 0 = any that is free."""


class SimulationSettings(Table):
    """The world in which simulated models answer; real models know nothing of it."""

    world: Path | None = None
    """TOML file of your own with the parameters of the simulated world; absent = the one that
    comes with flashevolve. A run is resumed in the world that it was started in."""


class RunSettings(Table):
    """Where the run lives. None of it changes what the run does."""

    dir: Path | None = None
    """Directory of the run; absent = a new one below ./runs."""
    reuse: Path | None = None
    """Directory of another run: what it asked with the same content is not asked again."""
    base: Path | None = None
    """Where relative paths start and modules are looked for; absent = the configuration's own
    directory."""


class Settings(Table):
    """A resolved configuration. `resolve` makes it from a tree of tables."""

    algorithm: Name = "gepa"
    """A built-in algorithm, or module:Class; the table of its name holds its own settings."""
    options: Any = None
    """The algorithm's validated settings: an instance of its class, with `workflow(setup)`."""
    policy: Literal["reflective", "guarded", "full", "regenerate"] = "reflective"
    """What to do with stale steps: repair them, discard them, or let them pass; regenerate is a
    control, to be compared with: the call of reflective, with the stale text withheld."""
    schedule: Literal["async", "sync"] = "async"
    """Whether many steps are in flight at once, or one."""
    seed: Annotated[int, Strict()] = 0
    """Seed of everything that is drawn at random."""
    artifact: dict[Name, str] = Field(default_factory=dict)
    """What evolves: component name = "text", or {file = "prompt.md"}."""
    task: TaskSettings = Field(default_factory=TaskSettings)
    data: DataSettings = Field(default_factory=DataSettings)
    model: Model | None = None
    models: dict[Name, Annotated[tuple[Model, ...], MinLen(1)]] = Field(default_factory=dict)
    budget: Budget = Field(default_factory=Budget)
    limits: Limits = Field(default_factory=Limits)
    control: ControlSettings = Field(default_factory=ControlSettings)
    staleness: Staleness = Field(default_factory=Staleness)
    speculation: SpeculationSettings = Field(default_factory=SpeculationSettings)
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    simulation: SimulationSettings = Field(default_factory=SimulationSettings)
    run: RunSettings = Field(default_factory=RunSettings)

    @property
    def delta_max(self) -> int:
        """Largest gap that policy guarded lets pass."""
        given = self.staleness.delta_max
        return self.limits.max_in_flight // 2 if given is None else given

    def role(self, name: str) -> tuple[Model, ...]:
        """Returns the models of a role: its own, else the default one.

        Raises `ConfigError` if there is neither.
        """
        if name in self.models:
            return self.models[name]
        if self.model is None:
            raise ConfigError(
                f"no model for role {name!r}: expected [model] with a name, or [models.{name}]; "
                f'for example --model.name "openai/gpt-4o-mini"'
            )
        return (self.model,)
