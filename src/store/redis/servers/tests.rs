//! What Sentinels say of replicas.

use super::*;

#[test]
fn a_replica_could_take_over_unless_it_is_down_or_never_may() {
    let replica = |flags: &str, priority: &str| {
        let fields = [("flags", flags), ("slave-priority", priority)];
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    };
    // The one that is promoted is for a moment called disconnected.
    for flags in ["slave", "slave,disconnected", "slave,promoted", "slave,disconnected,promoted"] {
        assert!(could_replace(&replica(flags, "100")), "{flags}");
        assert!(!could_replace(&replica(flags, "0")), "{flags}");
    }
    for flags in ["s_down,slave", "s_down,slave,disconnected", "slave,o_down"] {
        assert!(!could_replace(&replica(flags, "100")), "{flags}");
    }
}
