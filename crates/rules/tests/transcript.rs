//! Squares and transcripts are read relaxed and written strict, and an error says where.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use reversi_rules::{Board, Square, Transcript};

#[test]
fn every_square_reads_as_it_is_written_and_in_upper_case() {
    let names: Vec<String> =
        Board::B10x10.playable().iter().map(|square| square.to_string()).collect();
    assert_eq!(names.len(), 100);
    assert_eq!((names[0].as_str(), names[99].as_str()), ("a1", "j10"));
    for (name, square) in names.iter().zip(Board::B10x10.playable()) {
        assert_eq!(name.parse(), Ok(square));
        assert_eq!(name.to_uppercase().parse(), Ok(square));
        assert_eq!(Square::new(square.file(), square.rank()), Some(square));
    }
    assert_eq!((Square::new(10, 0), Square::new(0, 10)), (None, None));
}

#[test]
fn what_is_no_square_is_refused() {
    for text in
        ["", "a", "1", "a0", "k1", "a11", "a01", "a1 ", " a1", "1a", "a-1", "é1", "a1b", "aa"]
    {
        assert!(text.parse::<Square>().is_err(), "{text:?}");
    }
}

#[test]
fn a_transcript_takes_any_case_and_white_space_between_squares() {
    let transcript: Transcript = " F5d6\tC3\u{a0}j10\r\nJ1 ".parse().unwrap();
    assert_eq!(transcript.to_string(), "f5d6c3j10j1");
    assert_eq!("".parse(), Ok(Transcript::default()));
}

#[test]
fn an_error_names_the_byte_at_which_no_square_begins() {
    for (text, at) in [("x1", 0), ("f5 ", 3), ("f5d", 2), ("f5\u{a0}k1", 4), ("f5é", 2), ("a11", 2)]
    {
        let error = text.parse::<Transcript>().err().map(|error| error.at);
        assert_eq!(error, if at == text.len() { None } else { Some(at) }, "{text:?}");
    }
}
