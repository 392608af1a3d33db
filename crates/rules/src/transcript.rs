//! The placements of a game as text.

use std::fmt;
use std::str::FromStr;

use crate::Square;

/// The placements of a game one after another, passes left out.
///
/// Written as square names without a space between; read case-insensitively, with white space
/// anywhere between squares.
///
/// ```
/// use reversi_rules::Transcript;
/// let transcript: Transcript = "F5 d6\nj10c3".parse()?;
/// assert_eq!(transcript.0.len(), 4);
/// assert_eq!(transcript.to_string(), "f5d6j10c3");
/// assert_eq!("f5x1".parse::<Transcript>().unwrap_err().at, 2);
/// # Ok::<(), reversi_rules::ParseTranscriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transcript(pub Vec<Square>);

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|square| write!(f, "{square}"))
    }
}

/// The text is no transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTranscriptError {
    /// The byte, from 0, at which a square should begin and none does.
    pub at: usize,
}

impl fmt::Display for ParseTranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no square begins at byte {}", self.at)
    }
}

impl std::error::Error for ParseTranscriptError {}

impl FromStr for Transcript {
    type Err = ParseTranscriptError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut squares = Vec::new();
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let parsed = Square::parse_prefix(&text.as_bytes()[at..]);
            let (square, length) = parsed.ok_or(ParseTranscriptError { at })?;
            squares.push(square);
            at += length;
        }
        Ok(Self(squares))
    }
}
