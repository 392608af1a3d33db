//! The contract's enums, versions and rules in words for people.

use reversi_proto::v1;

use crate::escape;

/// `black`; a number that no colour has is said as it is.
pub fn color(number: i32) -> String {
    match v1::Color::try_from(number) {
        Ok(v1::Color::Black) => "black".to_owned(),
        Ok(v1::Color::White) => "white".to_owned(),
        Ok(v1::Color::Red) => "red".to_owned(),
        Ok(v1::Color::Green) => "green".to_owned(),
        Ok(v1::Color::Neutral) => "neutral".to_owned(),
        Ok(v1::Color::Unspecified) => "nobody".to_owned(),
        Err(_) => format!("colour {number}"),
    }
}

/// The same at the start of a sentence.
pub fn capital_color(number: i32) -> String {
    let mut word = color(number);
    word[..1].make_ascii_uppercase();
    word
}

/// `white and red`.
pub fn colors(numbers: &[i32]) -> String {
    numbers.iter().map(|number| color(*number)).collect::<Vec<_>>().join(" and ")
}

/// Where a game is in its life.
pub fn status(number: i32) -> String {
    match v1::GameStatus::try_from(number) {
        Ok(v1::GameStatus::WaitingForPlayers) => "waiting".to_owned(),
        Ok(v1::GameStatus::InProgress) => "in progress".to_owned(),
        Ok(v1::GameStatus::Finished) => "finished".to_owned(),
        Ok(v1::GameStatus::Unspecified) | Err(_) => format!("status {number}"),
    }
}

/// `8x8`.
pub fn board(number: i32) -> String {
    let board = u8::try_from(number).ok().and_then(reversi_rules::Board::from_number);
    board.map_or_else(|| format!("board {number}"), |board| board.name().to_owned())
}

/// `8x8, two players, most discs win, cross opening, blocked: a1 c8`.
pub fn rules(rules: &v1::Rules, layout: Option<&v1::Layout>) -> String {
    let mut parts = vec![board(rules.board), format!("{} players", rules.players)];
    if rules.multicolor && rules.players == 2 {
        parts.push("multicolor".to_owned());
    }
    parts.push(match v1::Objective::try_from(rules.objective) {
        Ok(v1::Objective::FewestDiscs) => "fewest discs win".to_owned(),
        Ok(v1::Objective::MostDiscs) => "most discs win".to_owned(),
        Ok(v1::Objective::Unspecified) | Err(_) => format!("objective {}", rules.objective),
    });
    match v1::Opening::try_from(rules.opening) {
        Ok(v1::Opening::Unspecified) => {}
        Ok(v1::Opening::Cross) => parts.push("cross opening".to_owned()),
        Ok(v1::Opening::Parallel) => parts.push("parallel opening".to_owned()),
        Ok(v1::Opening::Free) => parts.push("free opening".to_owned()),
        Err(_) => parts.push(format!("opening {}", rules.opening)),
    }
    if rules.handicap_corners > 0 {
        parts.push(format!("handicap {}", rules.handicap_corners));
    }
    if let Some(layout) = layout {
        parts.push(format!("blocked: {}", squares(&layout.squares)));
    }
    parts.join(", ")
}

/// `a1 c8`.
pub fn squares(squares: &[String]) -> String {
    squares.iter().map(|square| escape::text(square)).collect::<Vec<_>>().join(" ")
}

/// `revision 7, digest 0x00000000000000ff`; reads back as REVISION:DIGEST.
pub fn version(version: v1::Version) -> String {
    format!("revision {}, digest {}", version.revision, digest(version.digest))
}

/// `0x00000000000000ff`.
pub fn digest(digest: u64) -> String {
    format!("{digest:#018x}")
}

/// How a game ended.
pub fn outcome(outcome: &v1::Outcome) -> String {
    let reason = match v1::OutcomeReason::try_from(outcome.reason) {
        Ok(v1::OutcomeReason::NoMoves) => "nobody can move",
        Ok(v1::OutcomeReason::Resignation) => "by resignation",
        Ok(v1::OutcomeReason::Aborted) => return "Aborted: nobody wins.".to_owned(),
        Ok(v1::OutcomeReason::Unspecified) | Err(_) => "for a reason unknown here",
    };
    let discs: Vec<_> = outcome.counts.iter().map(|count| count.discs.to_string()).collect();
    let discs = discs.join(" : ");
    match outcome.winners.as_slice() {
        [] if outcome.draw => format!("A draw, {discs} ({reason})."),
        [] => format!("Nobody wins, {discs} ({reason})."),
        [winner] => format!("{} wins, {discs} ({reason}).", capital_color(*winner)),
        winners => format!("The winners are {}, {discs} ({reason}).", colors(winners)),
    }
}

/// What a change was: `black d3, flips d4; white passes`.
pub fn change(event: &v1::GameEvent) -> String {
    use v1::game_event::Change;
    match &event.change {
        Some(Change::Created(created)) => {
            let rules = created.rules.as_ref().map(|r| rules(r, created.layout.as_ref()));
            format!("created: {}", rules.unwrap_or_default())
        }
        Some(Change::SeatClaimed(claim)) => {
            let player = player(&claim.player_id, &claim.display_name);
            let by = if player.is_empty() { "" } else { " by" };
            format!("the {} seat is taken{by}{player}", color(claim.color))
        }
        Some(Change::MovePlayed(played)) => move_played(played),
        Some(Change::Resigned(resigned)) => format!("{} resigns", color(resigned.color)),
        Some(Change::Aborted(_)) => "aborted".to_owned(),
        None => "a change unknown to this reversictl".to_owned(),
    }
}

/// `black d3, flips d4; white passes`.
pub fn move_played(played: &v1::MovePlayed) -> String {
    let mut text = format!("{} {}", color(played.color), escape::text(&played.square));
    if played.flips.is_empty() {
        text.push_str(", flips nothing");
    } else {
        text.push_str(&format!(", flips {}", squares(&played.flips)));
    }
    if !played.passed.is_empty() {
        let verb = if played.passed.len() == 1 { "passes" } else { "pass" };
        text.push_str(&format!("; {} {verb}", colors(&played.passed)));
    }
    text
}

/// ` ann (Ann A.)`, with what there is of it.
pub fn player(player_id: &str, display_name: &str) -> String {
    match (player_id, display_name) {
        ("", "") => String::new(),
        (id, "") => format!(" {}", escape::text(id)),
        ("", name) => format!(" ({})", escape::text(name)),
        (id, name) => format!(" {} ({})", escape::text(id), escape::text(name)),
    }
}
