//! Messages of the contract as JSON: proto3's own mapping, read from the contract's descriptors.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use reversi_proto::v1;
use serde_json::{Serializer, Value};

use crate::escape;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(reversi_proto::DESCRIPTORS)
        .expect("the contract's descriptors are made together with this program")
});

/// A message that knows its name in the contract.
pub trait Named: prost::Message {
    /// Without the package.
    const NAME: &'static str;
}

macro_rules! named {
    ($($message:ident),+ $(,)?) => {
        $(impl Named for v1::$message {
            const NAME: &'static str = stringify!($message);
        })+
    };
}

named!(
    AbortGameResponse,
    CreateGameResponse,
    CreateLayoutResponse,
    DeleteGameResponse,
    Game,
    GameEvent,
    GetGameResponse,
    GetLayoutResponse,
    JoinGameResponse,
    MakeMoveResponse,
    ResignGameResponse,
    WatchGameResponse,
);

/// The message with its descriptor.
pub fn dynamic<M: Named>(message: &M) -> DynamicMessage {
    let descriptor = POOL
        .get_message_by_name(&format!("reversi.v1.{}", M::NAME))
        .expect("a generated message is in the descriptors that it was generated from");
    DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice())
        .expect("a message decodes by its own descriptor")
}

/// One line: lowerCamelCase names, 64-bit numbers as strings, enums by name, and fields without presence also when they
/// are zero or empty, so that a reader finds every key.
pub fn line<M: Named>(message: &M) -> String {
    let mut bytes = Vec::new();
    dynamic(message)
        .serialize_with_options(
            &mut Serializer::new(&mut bytes),
            &SerializeOptions::new().skip_default_fields(false),
        )
        .expect("a decoded message can be written as JSON");
    escape::json(&String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// The message as a tree with the contract's own field names, to compare field by field.
pub fn tree<M: Named>(message: &M) -> Value {
    dynamic(message)
        .serialize_with_options(
            serde_json::value::Serializer,
            &SerializeOptions::new().skip_default_fields(false).use_proto_field_name(true),
        )
        .expect("a decoded message can be written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_contracts_own_mapping() {
        let version = v1::Version { revision: 7, digest: u64::MAX };
        let heartbeat = v1::Heartbeat { version: Some(version) };
        let message = v1::WatchGameResponse {
            message: Some(v1::watch_game_response::Message::Heartbeat(heartbeat)),
        };
        assert_eq!(
            line(&message),
            r#"{"heartbeat":{"version":{"revision":"7","digest":"18446744073709551615"}}}"#
        );
    }

    #[test]
    fn a_reader_finds_fields_that_are_empty_too() {
        let game: Value = serde_json::from_str(&line(&v1::Game {
            position: Some(v1::Position::default()),
            ..Default::default()
        }))
        .unwrap();
        assert_eq!(game["position"]["ply"], 0);
        assert_eq!(game["position"]["legalMoves"], Value::Array(vec![]));
        assert_eq!(game["status"], "GAME_STATUS_UNSPECIFIED");
        assert!(game.get("outcome").is_none());
    }
}
