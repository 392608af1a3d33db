//! x
use crate::connect::Session;
use crate::errors::Failure;
pub async fn run(_session: &Session, _game_id: &str) -> Result<(), Failure> {
    Ok(())
}
