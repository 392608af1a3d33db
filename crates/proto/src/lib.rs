//! The `reversi.v1` contract.
