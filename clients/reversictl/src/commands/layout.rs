//! Draws sets of blocked squares, and shows them.

use reversi_proto::v1;

use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::{escape, words};

/// Draws or reads a layout.
pub async fn run(connection: &Connection, layout: args::Layout) -> Result<(), Failure> {
    match layout {
        args::Layout::Create(create) => {
            let request = v1::CreateLayoutRequest {
                board: create.board.map_or(0, |board| board.number().into()),
                handicap_corners: create.handicap,
                count: create.count,
                seed: create.seed,
            };
            let created = connection
                .call(
                    request,
                    |mut client, request| async move { client.create_layout(request).await },
                )
                .await?;
            connection.output.result(&created, || text(created.layout.as_ref()))
        }
        args::Layout::Get { layout_id } => {
            let request = v1::GetLayoutRequest { layout_id };
            let got = connection
                .call(
                    request,
                    |mut client, request| async move { client.get_layout(request).await },
                )
                .await?;
            connection.output.result(&got, || text(got.layout.as_ref()))
        }
    }
}

fn text(layout: Option<&v1::Layout>) -> String {
    let layout = layout.cloned().unwrap_or_default();
    let id = escape::text(&layout.layout_id);
    let board = words::board(layout.board);
    let mut text = format!("layout {id}\n{board}, blocked: {}", words::squares(&layout.squares));
    let handicap = match layout.handicap_corners {
        0 => String::new(),
        corners => format!(" --handicap {corners}"),
    };
    if !handicap.is_empty() {
        text.push_str(&format!(", handicap {}", layout.handicap_corners));
    }
    if let Some(seed) = layout.seed {
        text.push_str(&format!(", seed {seed}, algorithm {}", layout.algorithm));
    }
    text.push_str(&format!(
        "\n\nNext:\n  reversictl create --board {board}{handicap} --layout {id}"
    ));
    text
}
