//! The names of OpenTelemetry's semantic conventions that are used here, of one version, and our own beside them.

/// The conventions that the names are of.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

/// What kind of calls: [`GRPC`].
pub const RPC_SYSTEM_NAME: &str = "rpc.system.name";
/// The full name of a method, `package.Service/Method`, or [`OTHER`].
pub const RPC_METHOD: &str = "rpc.method";
/// What an unknown method was called.
pub const RPC_METHOD_ORIGINAL: &str = "rpc.method_original";
/// The name of the gRPC status code, such as `OK`.
pub const RPC_RESPONSE_STATUS_CODE: &str = "rpc.response.status_code";
/// A histogram of seconds.
pub const RPC_SERVER_CALL_DURATION: &str = "rpc.server.call.duration";
/// Why a span failed: a status code, or a kind of a store's error.
pub const ERROR_TYPE: &str = "error.type";
/// Which database.
pub const DB_SYSTEM_NAME: &str = "db.system.name";
/// What was asked of it.
pub const DB_OPERATION_NAME: &str = "db.operation.name";
/// Of the resource: which release.
pub const SERVICE_VERSION: &str = "service.version";
/// Of the resource: which process.
pub const SERVICE_INSTANCE_ID: &str = "service.instance.id";

/// The value of [`RPC_SYSTEM_NAME`].
pub const GRPC: &str = "grpc";
/// The method of a call whose method is none of ours, so that clients make no names here.
pub const OTHER: &str = "_OTHER";

/// Our own: which game.
pub const GAME_ID: &str = "reversi.game_id";
/// Our own: its revision, after a change or as it was read or refused.
pub const REVISION: &str = "reversi.revision";
/// Our own: the reason of a refusal.
pub const REASON: &str = "reversi.reason";
/// Our own: which store.
pub const STORE: &str = "reversi.store";
