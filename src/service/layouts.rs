//! Layouts of their own, for any number of games.

use reversi_rules::{Board, Layout};

use super::{Service, read, settled};
use crate::{
    error::Error,
    model::{Deadline, Millis, random},
};

/// Asks for a layout to be drawn.
#[derive(Clone, Debug)]
pub struct DrawLayout {
    /// For this board.
    pub board: Board,
    /// For this handicap.
    pub handicap_corners: u8,
    /// How many squares.
    pub count: u8,
    /// From this seed, or from one drawn now.
    pub seed: Option<u64>,
}

impl Service {
    /// Draws a layout and stores it for as long as an idle game.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::Internal`] when the numbers do not combine, which the form's check has seen to.
    pub async fn draw_layout(
        &self,
        command: DrawLayout,
        deadline: Option<Deadline>,
    ) -> Result<Layout, Error> {
        let DrawLayout { board, handicap_corners, count, seed } = command;
        let seed = seed.unwrap_or_else(|| u64::from_be_bytes(random()));
        let layout = Layout::draw(board, handicap_corners, count, seed)
            .map_err(|faults| Error::Internal(format!("a checked draw failed: {faults:?}")))?;
        let until = Millis::now().after(self.lifetimes.idle);
        let store = self.store.clone();
        self.detach(async move {
            let put = || async { Ok(store.put_layout(layout, until).await?) };
            settled(deadline, None, put).await?;
            Ok(layout)
        })
        .await
    }

    /// Reads a layout.
    ///
    /// # Errors
    ///
    /// [`Error::LayoutNotFound`]; [`Error::Store`].
    pub async fn get_layout(&self, id: &str, deadline: Option<Deadline>) -> Result<Layout, Error> {
        read(deadline, || self.layout(id)).await
    }
}
