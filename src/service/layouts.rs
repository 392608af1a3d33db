//! Layouts of their own, for any number of games.

use reversi_rules::{Board, Layout};

use super::Service;
use crate::{
    error::{Error, Faults},
    model::{Millis, random},
};

/// Asks for a layout to be drawn.
#[derive(Clone, Debug)]
pub struct DrawLayout {
    /// For this board.
    pub board: Board,
    /// For this handicap.
    pub handicap_corners: u32,
    /// How many squares.
    pub count: u32,
    /// From this seed, or from one drawn now.
    pub seed: Option<u64>,
}

impl Service {
    /// Draws a layout and stores it for as long as an idle game.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], every fault at once; [`Error::Store`].
    pub async fn draw_layout(&self, command: DrawLayout) -> Result<Layout, Error> {
        let DrawLayout { board, handicap_corners, count, seed } = command;
        let mut faults = Faults::default();
        for fault in Layout::check_draw(board, handicap_corners, count) {
            faults.add(fault.field, fault.problem);
        }
        faults.or(())?;
        let seed = seed.unwrap_or_else(|| u64::from_be_bytes(random()));
        let layout = Layout::draw(board, handicap_corners as u8, count as u8, seed)
            .map_err(|faults| Error::Internal(format!("a checked draw failed: {faults:?}")))?;
        let until = Millis::now().after(self.lifetimes.idle);
        let (store, stored) = (self.store.clone(), layout);
        self.detach(async move { Ok(store.put_layout(stored, until).await?) }).await?;
        Ok(layout)
    }

    /// Reads a layout.
    ///
    /// # Errors
    ///
    /// [`Error::LayoutNotFound`]; [`Error::Store`].
    pub async fn get_layout(&self, id: &str) -> Result<Layout, Error> {
        self.layout(id).await
    }
}
