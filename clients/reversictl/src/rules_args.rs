//! The flags that choose a variant, and their translation to the contract's `Rules`. Nothing is judged here: what does not
//! combine is told by whoever judges, all at once.

use clap::Args;
use reversi_proto::v1;
use reversi_rules::{BlockedSetup, Board, Objective, Opening, Setup};

/// Which variant to play.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The variant")]
pub struct RulesArgs {
    /// 6x6, 8x8 (the default), 10x10, octagon or cross-board.
    #[arg(long, value_name = "BOARD")]
    pub board: Option<Board>,
    /// How many play, 2 to 4. Default: 2.
    #[arg(long, value_name = "N")]
    pub players: Option<u32>,
    /// What wins: most-discs (the default) or fewest-discs.
    #[arg(long, value_name = "OBJECTIVE")]
    pub objective: Option<Objective>,
    /// How two players start: cross (the default), parallel or free.
    #[arg(long, value_name = "OPENING")]
    pub opening: Option<Opening>,
    /// How many corners Black starts with, 0 to 4.
    #[arg(long, value_name = "N")]
    pub handicap: Option<u32>,
    /// Lines may mix colours and nobody passes; always so with three or four.
    #[arg(long)]
    pub multicolor: bool,
    /// Squares that take no disc: how many to draw, 1 to 4, or which, such as a1,c8.
    #[arg(long, value_name = "N|SQUARES")]
    pub blocked: Option<String>,
    /// What to draw the blocked squares from. Default: the server draws a seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A layout of blocked squares, from layout create or an earlier game.
    #[arg(long, value_name = "LAYOUT")]
    pub layout: Option<String>,
}

impl RulesArgs {
    /// The same as the contract says it.
    pub fn to_wire(&self) -> v1::Rules {
        v1::Rules {
            board: self.board.map_or(0, |board| board.number().into()),
            players: self.players.unwrap_or(0),
            objective: self.objective.map_or(0, |objective| objective.number().into()),
            opening: self.opening.map_or(0, |opening| opening.number().into()),
            handicap_corners: self.handicap.unwrap_or(0),
            multicolor: self.multicolor,
            blocked_squares: self.blocked_squares(),
        }
    }

    /// The same as the rules crate says it, for what needs no server.
    pub fn to_setup(&self) -> Setup {
        let blocked = self.blocked_squares().map(|blocked| BlockedSetup {
            count: blocked.count,
            seed: blocked.seed,
            squares: blocked.squares,
            layout_id: self.layout.clone(),
        });
        Setup {
            board: self.board.unwrap_or_default(),
            players: self.players.unwrap_or(0),
            objective: self.objective.unwrap_or_default(),
            opening: self.opening,
            handicap_corners: self.handicap.unwrap_or(0),
            multicolor: self.multicolor,
            blocked,
        }
    }

    fn blocked_squares(&self) -> Option<v1::BlockedSquares> {
        if self.blocked.is_none() && self.seed.is_none() && self.layout.is_none() {
            return None;
        }
        let text = self.blocked.as_deref().unwrap_or("");
        let count: Option<u32> = text.parse().ok();
        let squares = match count {
            Some(_) => Vec::new(),
            None => text.split([',', ' ']).filter(|s| !s.is_empty()).map(str::to_owned).collect(),
        };
        Some(v1::BlockedSquares {
            count,
            seed: self.seed,
            squares,
            layout_id: self.layout.clone().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        rules: RulesArgs,
    }

    fn rules(flags: &str) -> v1::Rules {
        let flags = std::iter::once("reversictl").chain(flags.split_whitespace());
        Only::try_parse_from(flags).unwrap().rules.to_wire()
    }

    #[test]
    fn no_flags_leave_every_default_to_the_server() {
        assert_eq!(rules(""), v1::Rules::default());
    }

    #[test]
    fn every_flag_reaches_its_field() {
        let all = "--board 10x10 --players 3 --objective fewest-discs --opening free --handicap 2 \
                   --multicolor --blocked 4 --seed 0";
        assert_eq!(
            rules(all),
            v1::Rules {
                board: v1::Board::Board10x10.into(),
                players: 3,
                objective: v1::Objective::FewestDiscs.into(),
                opening: v1::Opening::Free.into(),
                handicap_corners: 2,
                multicolor: true,
                blocked_squares: Some(v1::BlockedSquares {
                    count: Some(4),
                    seed: Some(0),
                    ..Default::default()
                }),
            }
        );
        for board in Board::ALL {
            let number = rules(&format!("--board {board}")).board;
            assert_eq!(v1::Board::try_from(number).unwrap() as u8, board.number());
        }
    }

    #[test]
    fn blocked_squares_have_three_forms_and_what_contradicts_is_sent_to_be_judged() {
        let blocked = |flags| rules(flags).blocked_squares.unwrap();
        assert_eq!(blocked("--blocked A1,c8").squares, ["A1", "c8"]);
        assert_eq!(blocked("--blocked 0").count, Some(0));
        assert_eq!(blocked("--layout x").layout_id, "x");
        let two = blocked("--blocked a1 --layout x --seed 3");
        assert_eq!((two.squares.len(), two.layout_id.as_str(), two.seed), (1, "x", Some(3)));
    }
}
