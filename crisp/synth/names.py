"""Names of services, endpoints and hosts that read like a company's own."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from crisp.synth import shapes
from crisp.synth.programs import Host

_DOMAINS = (
    *("order", "payment", "cart", "catalog", "pricing", "user", "search", "inventory"),
    *("shipping", "promo", "review", "session", "fraud", "risk", "geo", "route", "dispatch"),
    *("driver", "rider", "trip", "fare", "receipt", "invoice", "ledger", "wallet", "tax"),
    *("menu", "store", "courier", "support", "feed", "media", "notification", "email"),
    *("consent", "profile", "loyalty", "quota", "feature", "experiment", "eta", "supply"),
)
_TIERS = ("api", "svc", "store", "engine", "worker", "proxy", "index", "rules", "hub")
_VERBS = (
    *("Get", "List", "Create", "Update", "Check", "Resolve", "Reserve", "Rank", "Score"),
    *("Quote", "Lookup", "Validate", "Enrich", "Plan", "Match", "Fetch"),
)
_NOUNS = (
    *("Items", "Details", "Status", "Offers", "Limits", "Options", "History", "Summary"),
    *("Candidates", "Terms", "Balance", "Window", "Policy", "Zones", "Scores", "Tokens"),
)
_PATHS = ("v1", "v2", "v3")
_METHODS = ("POST", "GET", "PUT", "GET")
_WORK = ("auth.check", "render.response", "decode.request", "merge.results", "rank.candidates")
_STORES = ("SELECT", "INSERT", "UPDATE", "SELECT")

# Hardware: name and how long its work takes beside the newest.
SKUS = (("c7.4xlarge", 1.0), ("c6.4xlarge", 1.12), ("m5.4xlarge", 1.3))
_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
MOST_HOSTS = 24


def gateway_names(count: int) -> list[str]:
    """``count`` different names of services that requests enter by."""
    return _names(count, ("gateway",))


def service_names(count: int) -> list[str]:
    """``count`` different names of services behind the gateways."""
    return _names(count, _TIERS)


def _names(count: int, tiers: Sequence[str]) -> list[str]:
    names = []
    for k in range(count):
        turn, domain = divmod(k, len(_DOMAINS))
        generation, tier = divmod(turn, len(tiers))
        suffix = f"-{generation + 1}" if generation else ""
        names.append(f"{_DOMAINS[domain]}-{tiers[tier]}{suffix}")
    return names


def plural(word: str) -> str:
    """The English plural of a domain."""
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("ch", "s", "x")) else "s")


def entry_operation(service: str, number: int) -> str:
    """The ``number``-th entry of ``service``; no two numbers give the same."""
    again, noun = divmod(number, len(_NOUNS))
    suffix = f"-{again + 1}" if again else ""
    tail = f"/{_NOUNS[noun].lower()}{suffix}" if number else ""
    method = _METHODS[(number + len(service)) % len(_METHODS)]
    return f"{method} /{_PATHS[number % len(_PATHS)]}/{plural(service.partition('-')[0])}{tail}"


def rpc_operation(service: str, number: int) -> str:
    """The ``number``-th gRPC method of ``service``; no two numbers give the same."""
    domain = service.partition("-")[0]
    noun, verb = divmod(number, len(_VERBS))
    again, noun = divmod(noun, len(_NOUNS))
    suffix = f"V{again + 1}" if again else ""
    tier = "".join(part.capitalize() for part in service.split("-")[1:])
    name = f"{_VERBS[verb]}{_NOUNS[(noun + verb) % len(_NOUNS)]}{suffix}"
    return f"{plural(domain)}.{domain.capitalize()}{tier}/{name}"


def http_operation(service: str, number: int) -> str:
    """The ``number``-th HTTP route of ``service``; no two numbers give the same."""
    domain = service.partition("-")[0]
    noun, verb = divmod(number, len(_VERBS))
    again, noun = divmod(noun, len(_NOUNS))
    version = _PATHS[again] if again < len(_PATHS) else f"v{again + 1}"
    route = f"{_VERBS[verb].lower()}-{_NOUNS[(noun + verb) % len(_NOUNS)].lower()}"
    return f"{_METHODS[verb % 4]} /{version}/{plural(domain)}/{route}"


def store_operation(service: str, draw: Random) -> str:
    """A database statement of ``service``, shortened as tracers do."""
    return (
        f"{draw.choice(_STORES)} {plural(service.partition('-')[0])}_{draw.choice(_NOUNS).lower()}"
    )


def work_operation(draw: Random) -> str:
    """A piece of work inside a service."""
    return draw.choice(_WORK)


def queue_name(service: str, draw: Random) -> str:
    """A topic that ``service`` publishes to."""
    return f"{plural(service.partition('-')[0])}.{draw.choice(_NOUNS).lower()}"


def make_hosts(services: Sequence[str], draw: Random) -> list[Host]:
    """Hosts of every service in turn: as many as Meta's services have, at most `MOST_HOSTS`.

    Hosts differ in zone, hardware, version, and by a constant clock offset (µs).
    """
    hosts = []
    for k, service in enumerate(services):
        count = min(int(shapes.quantile(draw.random(), shapes.META_INSTANCES)), MOST_HOSTS)
        pod = f"{draw.getrandbits(32):08x}"
        release = f"{draw.randrange(1, 9)}.{draw.randrange(40)}"
        for number in range(max(count, 1)):
            sku, speed = draw.choices(SKUS, (6, 3, 1))[0]
            far = draw.random() < shapes.CLOCK_FAR_SHARE
            spread = shapes.CLOCK_FAR_US if far else shapes.CLOCK_NEAR_US
            host = Host(
                service=service,
                name=f"{service}-{pod}-{draw.getrandbits(20):05x}",
                ip=f"10.{k // 250 % 250}.{k % 250}.{number + 1}",
                zone=draw.choice(_ZONES),
                sku=sku,
                version=f"{release}.{draw.randrange(2)}",
                speed=speed,
                offset_us=round(draw.gauss(0, spread)),
            )
            hosts.append(host)
    return hosts
