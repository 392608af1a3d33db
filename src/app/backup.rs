//! A backup of the store over the admin port: made whole first, then sent with its length, so that a torn download can be told.

use std::time::Duration;

use axum::{
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio_stream::StreamExt as _;

use super::admin::Lease;
use crate::store::{Backup, BackupError, Store};

/// How long making one may take.
const BACKUP_MAKING: Duration = Duration::from_secs(900);

/// How long whoever reads one may take for a piece of it.
const BACKUP_STALL: Duration = Duration::from_secs(30);

/// Makes a backup and sends it.
pub async fn download(store: &dyn Store, lease: Lease) -> Response {
    lease.renew(BACKUP_MAKING);
    let made = store.backup().await;
    lease.renew(BACKUP_STALL);
    match made {
        Ok(backup) => send(backup, lease),
        Err(error) => refuse(&error),
    }
}

fn send(backup: Backup, lease: Lease) -> Response {
    tracing::info!(bytes = backup.bytes, "a backup is sent");
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, backup.bytes.to_string()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"backup.redb\"".to_owned()),
    ];
    // A piece is asked for once there is room for it.
    let pieces = backup.into_pieces().map(move |piece| {
        lease.renew(BACKUP_STALL);
        piece
    });
    (headers, Body::from_stream(pieces)).into_response()
}

fn refuse(error: &BackupError) -> Response {
    let status = match error {
        BackupError::Elsewhere(_) => StatusCode::NOT_IMPLEMENTED,
        BackupError::Running => StatusCode::CONFLICT,
        BackupError::NoRoom { .. } => StatusCode::INSUFFICIENT_STORAGE,
        BackupError::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    tracing::warn!(%error, "no backup was made");
    (status, format!("{error}\n")).into_response()
}
