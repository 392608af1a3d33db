//! Reads the values of flags: times, versions, labels, seats.

use std::time::Duration;

use reversi_proto::v1;

/// `500ms`, `10s`, `1m`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| "a time such as 500ms, 10s or 1m")?;
    let unit_ms = match &text[digits..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        other => return Err(format!("unknown unit {other:?}: one of ms, s, m")),
    };
    let ms = number.checked_mul(unit_ms).filter(|ms| *ms <= 86_400_000);
    Ok(Duration::from_millis(ms.ok_or("at most a day")?))
}

/// `7`, `7:1234567890` or `7:0x00000000499602d2`.
pub fn version(text: &str) -> Result<v1::Version, String> {
    let (revision, digest) = text.split_once(':').unwrap_or((text, "0"));
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    match (revision.parse(), number(digest)) {
        (Ok(revision), Ok(digest)) => Ok(v1::Version { revision, digest }),
        _ => Err("a revision, or revision:digest as show and --json write it".to_owned()),
    }
}

/// `key=value`, split at the first `=`.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("needs the form key=value")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// `open`, or a player id and maybe a display name after the first `=`; `open=` is a player of that name.
pub fn seat(text: &str) -> Result<v1::NewSeat, String> {
    if text == "open" {
        return Ok(v1::NewSeat { open: true, ..Default::default() });
    }
    let (player_id, display_name) = text.split_once('=').unwrap_or((text, ""));
    Ok(v1::NewSeat {
        player_id: player_id.to_owned(),
        display_name: display_name.to_owned(),
        open: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_a_bound() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "s", "1h", "-1s", "99999999999999999999s", "2000m"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_version_is_read_as_it_is_written() {
        assert_eq!(version("7"), Ok(v1::Version { revision: 7, digest: 0 }));
        assert_eq!(version("7:255"), Ok(v1::Version { revision: 7, digest: 255 }));
        assert_eq!(version("7:0x00000000000000ff"), Ok(v1::Version { revision: 7, digest: 255 }));
        assert!(version("7:").is_err() && version("x").is_err() && version("7:0x").is_err());
    }

    #[test]
    fn seats_are_open_named_or_taken_without_a_name() {
        let named = |id: &str, name: &str| v1::NewSeat {
            player_id: id.to_owned(),
            display_name: name.to_owned(),
            open: false,
        };
        assert!(seat("open").unwrap().open);
        assert_eq!(seat("").unwrap(), named("", ""));
        assert_eq!(seat("ann=Ann = A.").unwrap(), named("ann", "Ann = A."));
        assert_eq!(seat("open=").unwrap(), named("open", ""));
    }
}
