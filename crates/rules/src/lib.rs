//! The rules of Reversi and its variants.
