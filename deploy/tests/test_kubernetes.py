"""Every shape is one that Kubernetes takes, and keeps its promises; each of them can be broken."""

import operator

import kubernetes_validate
import pytest

from kubernetes_promises import PROMISES
from kubernetes_shape import Shape

SHAPES = ["embedded", "redis", "redis-cluster", "documented"]
# The oldest that docs/deployment.md promises, and the newest whose schemas there are.
VERSIONS = ["1.30", kubernetes_validate.latest_version()]
# Kinds that an operator brings, whose schemas are not there.
CUSTOM = {"PodMonitor"}

every_shape = pytest.mark.parametrize("name", SHAPES)


@every_shape
@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_allow_it(name, version):
    """No unknown field, no wrong type."""
    for one in Shape(name).objects:
        if one["kind"] not in CUSTOM:
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_are_strict(version):
    """A field that is misspelt or of the wrong type is refused."""
    for field, value in [("minReadySecond", 5), ("minReadySeconds", "5")]:
        workload = Shape("redis").workload
        workload["spec"][field] = value
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(workload, version, strict=True)


@every_shape
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_it_keeps_its_promise(promise, name):
    """As the function says."""
    promise(Shape(name))


def test_the_store_is_reached_where_it_is():
    """Each shape lets its pods talk to pods that bear its store's name."""
    for name in ["redis", "redis-cluster"]:
        [_, rule] = Shape(name).one("NetworkPolicy")["spec"]["egress"]
        [peer] = rule["to"]
        assert peer["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": name}


def place(shape, first, *path):
    """What lies at the end of this path, which begins with a part of the shape."""
    found = getattr(shape, first) if isinstance(first, str) else first(shape)
    for key in path:
        found = found[key]
    return found


def put(value, *path):
    """A change: this value is there."""
    return lambda shape: operator.setitem(place(shape, *path[:-1]), path[-1], value)


def drop(*path):
    """A change: nothing is there."""
    return lambda shape: operator.delitem(place(shape, *path[:-1]), path[-1])


def of(kind, index=0):
    """An object, as a part of the shape."""
    return lambda shape: shape.all(kind)[index]


def add(one):
    """A change: one more object."""
    return lambda shape: shape.objects.append({"metadata": {"namespace": "reversid"}, **one})


GONE = {"app.kubernetes.io/name": "gone"}
EXEC = {"exec": {"command": ["sleep", "5"]}}
SECRET_URL = "redis://ann:secret@redis:6379"
BREAKS = [
    (
        "the_grace_period_outlasts_the_drain",
        "redis",
        put(30, "pod", "terminationGracePeriodSeconds"),
    ),
    (
        "the_grace_period_outlasts_the_drain",
        "embedded",
        put("1m", "settings", "REVERSID_DRAIN_TIMEOUT"),
    ),
    (
        "callers_hear_of_an_end_before_it_comes",
        "redis",
        put(EXEC, "container", "lifecycle", "preStop"),
    ),
    ("callers_hear_of_an_end_before_it_comes", "embedded", put({}, "container", "lifecycle")),
    (
        "probes_ask_what_they_are_for",
        "redis",
        drop("container", "readinessProbe", "grpc", "service"),
    ),
    (
        "probes_ask_what_they_are_for",
        "redis",
        put("s", "container", "livenessProbe", "grpc", "service"),
    ),
    (
        "probes_ask_what_they_are_for",
        "embedded",
        put(1, "container", "startupProbe", "failureThreshold"),
    ),
    (
        "probes_ask_what_they_are_for",
        "redis",
        put(7420, "container", "livenessProbe", "grpc", "port"),
    ),
    ("the_pod_may_do_nothing", "redis", put(False, "pod", "securityContext", "runAsNonRoot")),
    ("the_pod_may_do_nothing", "redis", drop("pod", "securityContext", "seccompProfile")),
    ("the_pod_may_do_nothing", "redis", drop("container", "securityContext", "capabilities")),
    ("the_pod_may_do_nothing", "redis", put(True, "pod", "hostNetwork")),
    ("the_pod_may_do_nothing", "redis", put([{"hostPath": {}}], "pod", "volumes")),
    ("the_pod_may_do_nothing", "redis", put({}, of("Namespace"), "metadata", "labels")),
    ("the_pod_knows_nothing_of_the_cluster", "redis", drop("pod", "automountServiceAccountToken")),
    ("the_pod_knows_nothing_of_the_cluster", "redis", put("default", "pod", "serviceAccountName")),
    ("everything_means_the_same_pods", "redis", put(GONE, "template", "metadata", "labels")),
    ("everything_means_the_same_pods", "embedded", put(GONE, of("Service", 1), "spec", "selector")),
    (
        "everything_means_the_same_pods",
        "redis",
        put({}, of("NetworkPolicy"), "spec", "podSelector", "matchLabels"),
    ),
    (
        "everything_means_the_same_pods",
        "redis",
        put("other", of("Service"), "metadata", "namespace"),
    ),
    (
        "everything_means_the_same_pods",
        "redis",
        put("http", of("Service"), "spec", "ports", 0, "targetPort"),
    ),
    ("the_settings_reach_the_pod", "redis", put("reversid", of("ConfigMap"), "metadata", "name")),
    ("the_settings_reach_the_pod", "redis", put("127.0.0.1:7420", "settings", "REVERSID_LISTEN")),
    (
        "the_settings_reach_the_pod",
        "embedded",
        put("9090", "template", "metadata", "annotations", "prometheus.io/port"),
    ),
    ("the_settings_reach_the_pod", "documented", drop(of("PodMonitor"), "spec", "jobLabel")),
    ("clients_can_balance_calls", "redis", drop(of("Service", 1), "spec", "clusterIP")),
    ("the_file_has_one_owner", "embedded", put(2, "workload", "spec", "replicas")),
    (
        "the_file_has_one_owner",
        "embedded",
        put("file:/tmp/reversi.redb", "settings", "REVERSID_STORE"),
    ),
    ("the_file_has_one_owner", "embedded", add({"kind": "PodDisruptionBudget"})),
    ("the_file_has_one_owner", "redis", put("memory:", "settings", "REVERSID_STORE")),
    (
        "replicas_are_never_all_away",
        "redis",
        put(1, "workload", "spec", "strategy", "rollingUpdate", "maxUnavailable"),
    ),
    ("replicas_are_never_all_away", "redis", put(3, "workload", "spec", "replicas")),
    (
        "replicas_are_never_all_away",
        "redis",
        put(1, of("HorizontalPodAutoscaler"), "spec", "minReplicas"),
    ),
    (
        "replicas_are_never_all_away",
        "redis",
        put(0, of("PodDisruptionBudget"), "spec", "maxUnavailable"),
    ),
    (
        "replicas_are_never_all_away",
        "redis",
        put(3, of("PodDisruptionBudget"), "spec", "maxUnavailable"),
    ),
    ("replicas_are_never_all_away", "redis", put([], "pod", "topologySpreadConstraints")),
    ("only_those_named_talk", "redis", put([], of("NetworkPolicy"), "spec", "ingress", 0, "from")),
    (
        "only_those_named_talk",
        "embedded",
        put([{"to": [{}], "ports": []}], of("NetworkPolicy"), "spec", "egress"),
    ),
    (
        "only_those_named_talk",
        "redis",
        put(["Ingress"], of("NetworkPolicy"), "spec", "policyTypes"),
    ),
    (
        "only_those_named_talk",
        "redis",
        put("http://collector:4317", "settings", "REVERSID_OTLP_ENDPOINT"),
    ),
    ("resources_are_bounded", "redis", drop("container", "resources", "limits", "memory")),
    (
        "the_image_is_a_release",
        "redis",
        put("registry.example.com/reversid:latest", "container", "image"),
    ),
    ("nothing_here_is_secret", "redis", add({"kind": "Secret"})),
    ("nothing_here_is_secret", "embedded", put(SECRET_URL, "settings", "REVERSID_STORE")),
    (
        "nothing_here_is_secret",
        "redis",
        put({"name": "REVERSID_STORE", "value": "redis://redis:6379"}, "container", "env", 0),
    ),
]


@pytest.mark.parametrize(("promise", "name", "change"), BREAKS)
def test_a_promise_can_be_broken(promise, name, change):
    """So that a function which always holds is found."""
    kept = {one.__name__: one for one in PROMISES}[promise]
    broken = Shape(name)
    kept(broken)
    change(broken)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        kept(broken)


def test_every_promise_is_broken_once():
    """By the table above."""
    assert {promise for promise, *_ in BREAKS} == {promise.__name__ for promise in PROMISES}
