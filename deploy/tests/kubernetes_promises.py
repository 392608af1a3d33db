"""What a shape promises, each a function that fails where it is not kept."""

import re

from files import REPOSITORY
from kubernetes_shape import Shape

SERVICE = "reversi.v1.GameService"
ARCHITECTURE = REPOSITORY / "docs/architecture.md"
SPARE_SECONDS = 5
# What pods of these names are reached at: servers, and Sentinels.
STORES = {"redis": [6379, 26379], "redis-cluster": [6379]}


def seconds(time: str) -> float:
    """A time as settings are written, such as 500ms or 20s."""
    number, unit = re.fullmatch(r"(\d+) ?(ms|s|m)", time).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def bound(name: str) -> float:
    """A bound of the source in seconds, as its table tells it, which a test holds to the source."""
    [value] = re.findall(rf"^\| `{name}` \| (\d+ m?s)\b", ARCHITECTURE.read_text(), re.MULTILINE)
    return seconds(value)


def the_grace_period_outlasts_the_drain(shape: Shape):
    """Or the kubelet would kill what finishes properly."""
    hook = shape.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {"seconds": 0})
    drain = seconds(shape.settings["REVERSID_DRAIN_TIMEOUT"])
    # Connections, the store, telemetry, threads: each gets to close.
    closing = 2 * bound("LINGER") + bound("FLUSH_MAX") + bound("RUNTIME_END")
    needed = hook["seconds"] + drain + closing + SPARE_SECONDS
    assert shape.pod["terminationGracePeriodSeconds"] >= needed


def callers_hear_of_an_end_before_it_comes(shape: Shape):
    """Where others serve on, a pod does too until every node knows of it; no shell can sleep."""
    if shape.workload["kind"] == "Deployment":
        [(action, sleep)] = shape.container["lifecycle"]["preStop"].items()
        assert action == "sleep" and sleep["seconds"] >= 5
    else:
        assert "lifecycle" not in shape.container


def probes_ask_what_they_are_for(shape: Shape):
    """Readiness asks whether the store is there; a restart mends a process alone."""
    for name in ["startupProbe", "livenessProbe"]:
        probe = shape.container[name]
        assert probe["grpc"] == {"port": shape.ports["admin"]}, name
        assert probe["failureThreshold"] * probe["periodSeconds"] >= 30, name
    readiness = shape.container["readinessProbe"]
    assert readiness["grpc"] == {"port": shape.ports["grpc"], "service": SERVICE}
    startup = shape.container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= 300


def the_pod_may_do_nothing(shape: Shape):
    """The restricted Pod Security Standard, enforced, and a root that nobody writes to."""
    pod, container = shape.pod["securityContext"], shape.container["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] == pod["runAsGroup"] == pod["fsGroup"] == 65532
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["allowPrivilegeEscalation"] is False
    assert container["readOnlyRootFilesystem"] is True
    assert container["capabilities"] == {"drop": ["ALL"]}
    assert "privileged" not in container
    for forbidden in ["hostNetwork", "hostPID", "hostIPC"]:
        assert forbidden not in shape.pod
    assert all("hostPath" not in volume for volume in shape.pod.get("volumes", []))
    labels = shape.one("Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def the_pod_knows_nothing_of_the_cluster(shape: Shape):
    """No token to ask it with, and no variables for every service of the namespace."""
    assert shape.pod["automountServiceAccountToken"] is False
    account = shape.one("ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert shape.pod["serviceAccountName"] == account["metadata"]["name"]
    assert shape.pod["enableServiceLinks"] is False


def everything_means_the_same_pods(shape: Shape):
    """Every selector is met by the pods' labels, and every name of a port is one of theirs."""
    labels = shape.template["metadata"]["labels"].items()
    selectors = [shape.workload["spec"]["selector"]["matchLabels"]]
    selectors += [service["spec"]["selector"] for service in shape.all("Service")]
    selectors.append(shape.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
    selectors += [
        one["spec"]["selector"]["matchLabels"] for one in shape.all("PodDisruptionBudget")
    ]
    spread = shape.pod.get("topologySpreadConstraints", [])
    selectors += [constraint["labelSelector"]["matchLabels"] for constraint in spread]
    for selector in selectors:
        assert selector and selector.items() <= labels
    named = [port["targetPort"] for one in shape.all("Service") for port in one["spec"]["ports"]]
    named += [port["port"] for rule in _rules(shape, "ingress") for port in rule["ports"]]
    assert set(named) <= set(shape.ports)
    spaces = {
        one["metadata"].get("namespace") for one in shape.objects if one["kind"] != "Namespace"
    }
    assert spaces == {shape.one("Namespace")["metadata"]["name"]}


def the_settings_reach_the_pod(shape: Shape):
    """Under a name that changes with them, and at the ports that are probed and scraped."""
    name = shape.one("ConfigMap")["metadata"]["name"]
    assert re.fullmatch(r"reversid-[a-z0-9]{10}", name)
    assert shape.container["envFrom"] == [{"configMapRef": {"name": name}}]
    assert shape.settings["REVERSID_LISTEN"] == f"0.0.0.0:{shape.ports['grpc']}"
    assert shape.settings["REVERSID_ADMIN_LISTEN"] == f"0.0.0.0:{shape.ports['admin']}"
    annotations = shape.template["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(shape.ports["admin"])
    labels = shape.template["metadata"]["labels"]
    for monitor in shape.all("PodMonitor"):
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] in shape.ports
        # The alerts know the job by this name.
        assert labels[monitor["spec"]["jobLabel"]] == "reversid"


def clients_can_balance_calls(shape: Shape):
    """One service has an address, the other gives those of the pods."""
    assert {
        one["metadata"]["name"]: one["spec"].get("clusterIP") for one in shape.all("Service")
    } == {"reversid": None, "reversid-headless": "None"}


def the_file_has_one_owner(shape: Shape):
    """Never two pods, not even during an update, and the volume is no memory of a pod's."""
    if shape.workload["kind"] == "Deployment":
        assert "REVERSID_STORE" not in shape.settings
        return
    spec = shape.workload["spec"]
    assert spec["replicas"] == 1
    assert not shape.all("HorizontalPodAutoscaler")
    [claim] = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    [mount] = shape.container["volumeMounts"]
    assert mount["name"] == claim["metadata"]["name"]
    assert shape.settings["REVERSID_STORE"].startswith(f"file:{mount['mountPath']}/")
    # With one pod, one that forbids anything forbids to drain its node.
    assert not shape.all("PodDisruptionBudget")


def replicas_are_never_all_away(shape: Shape):
    """Updates add before they take, evictions go one by one, and pods lie apart."""
    if shape.workload["kind"] == "StatefulSet":
        return
    spec = shape.workload["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert spec["minReadySeconds"] > 0
    scaler = shape.one("HorizontalPodAutoscaler")["spec"]
    target = scaler["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", shape.workload["metadata"]["name"])
    # Or each `apply` would undo what the autoscaler did.
    assert "replicas" not in spec
    assert 2 <= scaler["minReplicas"] < scaler["maxReplicas"]
    [metric] = scaler["metrics"]
    assert metric["resource"]["name"] in shape.container["resources"]["requests"]
    assert scaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"] >= 300
    budget = shape.one("PodDisruptionBudget")["spec"]
    assert 1 <= budget["maxUnavailable"] < scaler["minReplicas"]
    keys = [spread["topologyKey"] for spread in shape.pod["topologySpreadConstraints"]]
    assert keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]


def only_those_named_talk(shape: Shape):
    """Callers to the service, the monitoring to the metrics, the pod to names and to its store."""
    policy = shape.one("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    for rule in [*policy["ingress"], *policy["egress"]]:
        assert rule["ports"] and (rule.get("from") or rule.get("to"))
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [
        "grpc",
        "admin",
    ]
    reached = [[port["port"] for port in rule["ports"]] for rule in policy["egress"]]
    wanted = [[53, 53]]
    if shape.workload["kind"] == "Deployment":
        [store] = policy["egress"][1]["to"]
        wanted.append(STORES[store["podSelector"]["matchLabels"]["app.kubernetes.io/name"]])
    endpoint = shape.settings.get("REVERSID_OTLP_ENDPOINT")
    if endpoint:
        wanted.append([int(endpoint.rsplit(":", 1)[1])])
    assert reached == wanted


def resources_are_bounded(shape: Shape):
    """What a pod asks for, and the memory that it may not pass."""
    resources = shape.container["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert set(resources["limits"]) == {"memory"}


def the_image_is_a_release(shape: Shape):
    """This one, or the one that this will be; no tag that moves."""
    cargo = (REPOSITORY / "Cargo.toml").read_text()
    version = re.search(r'^version = "([0-9.]+)(?:-dev)?"$', cargo, re.MULTILINE)[1]
    assert shape.container["image"].endswith(f"/reversid:{version}")


def nothing_here_is_secret(shape: Shape):
    """Secrets are named and never kept."""
    assert not shape.all("Secret")
    for one in shape.objects:
        for text in _texts(one):
            assert not re.search(r"://[^/\s]*@", text), text
    if shape.workload["kind"] == "Deployment":
        [store] = [one for one in shape.container["env"] if one["name"] == "REVERSID_STORE"]
        assert store["valueFrom"] == {"secretKeyRef": {"name": "reversid-store", "key": "url"}}


def _rules(shape: Shape, direction: str) -> list[dict]:
    return shape.one("NetworkPolicy")["spec"][direction]


def _texts(value):
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        for one in inner:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


PROMISES = [
    the_grace_period_outlasts_the_drain,
    callers_hear_of_an_end_before_it_comes,
    probes_ask_what_they_are_for,
    the_pod_may_do_nothing,
    the_pod_knows_nothing_of_the_cluster,
    everything_means_the_same_pods,
    the_settings_reach_the_pod,
    clients_can_balance_calls,
    the_file_has_one_owner,
    replicas_are_never_all_away,
    only_those_named_talk,
    resources_are_bounded,
    the_image_is_a_release,
    nothing_here_is_secret,
]
