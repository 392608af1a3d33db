#!/bin/sh
# Makes one Redis Cluster of six or more nodes, given as HOST:PORT, each primary with one replica. Run again it brings nodes
# together whose addresses have changed, and otherwise changes nothing. Ends with 0 once every node sees all others.
set -eu

ask() {
    node=$1
    shift
    redis-cli -e -h "${node%:*}" -p "${node##*:}" "$@"
}

first=$1
addresses=
for node in "$@"; do
    # Nodes know each other by addresses, which the names stand for today.
    ip=$(getent hosts "${node%:*}" | awk '{ print $1; exit }')
    addresses="$addresses $ip:${node##*:}"
done

if [ "$(ask "$first" cluster info | tr -d '\r' | awk -F: '/^cluster_known_nodes/ { print $2 }')" -eq 1 ]; then
    # shellcheck disable=SC2086 # one word each
    redis-cli --cluster create $addresses --cluster-replicas 1 --cluster-yes
else
    # Each meets each: of a node that has moved they do not tell one another.
    for node in "$@"; do
        for address in $addresses; do
            ask "$node" cluster meet "${address%:*}" "${address##*:}" >/dev/null
        done
    done
fi

well() {
    ask "$1" cluster info | grep -q cluster_state:ok &&
        ! ask "$1" cluster nodes | grep -Eq 'handshake|noaddr|fail|disconnected'
}

tries=120
for node in "$@"; do
    until well "$node"; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            echo "make-cluster: $node does not see a whole cluster" >&2
            exit 1
        fi
        sleep 0.5
    done
done
echo "make-cluster: $# nodes are one cluster"
