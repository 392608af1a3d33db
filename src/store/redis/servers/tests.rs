//! What Sentinels say of replicas.

use super::*;

fn replica(fields: &[(&str, &str)]) -> HashMap<String, String> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_replica_counts_unless_sentinels_call_it_down() {
    for priority in ["100", "0"] {
        let with =
            |flags| replica(&[("flags", flags), ("port", "6379"), ("slave-priority", priority)]);
        // The one that is promoted is for a moment called disconnected.
        for up in ["slave", "slave,disconnected", "slave,promoted", "slave,disconnected,promoted"] {
            assert!(is_up(&with(up)), "{up}");
        }
        for down in ["s_down,slave", "s_down,slave,disconnected", "slave,o_down"] {
            assert!(!is_up(&with(down)), "{down}");
        }
    }
    assert!(!is_up(&replica(&[("flags", "slave,disconnected"), ("port", "0")])));
}
