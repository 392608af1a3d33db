//! Whether what a server tells of a game is what the rules make of its record.

use reversi_proto::{convert, v1};
use reversi_rules::Game;

use super::position;

/// The events, played through the rules, give every version that they claim and the game as it stands.
pub fn assert_folds(history: &[v1::GameEvent], game: &v1::Game) {
    let mut fold = None::<Game>;
    for event in history {
        let change = convert::change(event).expect("a change");
        match &mut fold {
            None => fold = Some(Game::create(&change).expect("a creation")),
            Some(game) => drop(game.apply(&change).expect("a change that the rules allow")),
        }
        let version = fold.as_ref().expect("a game").version();
        let claimed = event.version.expect("a version");
        assert_eq!((claimed.revision, claimed.digest), (version.revision, version.digest));
    }
    let fold = fold.expect("a history has a creation");
    assert_eq!(position(game).board, fold.position().board_text());
    assert_eq!(game.version, history.last().expect("a creation").version);
}
