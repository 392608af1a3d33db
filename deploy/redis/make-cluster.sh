#!/bin/sh
# Makes one Redis Cluster of six or more nodes, given as HOST:PORT, each primary with one replica. Run again it brings nodes
# together whose addresses have changed, and otherwise changes nothing. Ends with 0 once every node says that all is well.
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
    for address in $addresses; do
        ask "$first" cluster meet "${address%:*}" "${address##*:}" >/dev/null
    done
fi

tries=120
for node in "$@"; do
    until ask "$node" cluster info | grep -q cluster_state:ok; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then
            echo "make-cluster: $node does not say cluster_state:ok" >&2
            exit 1
        fi
        sleep 0.5
    done
done
echo "make-cluster: $# nodes are one cluster"
