//! gRPC: the handlers, what every call passes through, and what else answers on the port.
//!
//! A handler is four steps: form to command, one use case, error to status, answer. No store, rules, clock or lock here.

mod games;
mod layers;
mod observe;
mod page_token;
mod status;
mod validate;
mod watch;

use axum::{Router, middleware};
use http::HeaderName;
use reversi_proto::{DESCRIPTORS, server::GameServiceServer};
use tonic::service::Routes;
use tonic_health::{
    ServingStatus,
    pb::health_server::{Health, HealthServer},
    server::HealthReporter,
};
use tower_http::cors::{Any, CorsLayer};

pub use self::{games::Games, layers::InFlight, status::REASONS};

/// The name that health knows the contract by, beside the empty one of the whole server.
pub const HEALTH_NAME: &str = "reversi.v1.GameService";

/// Bytes of a question to health or reflection, which is a name. A longer one is refused by health with OUT_OF_RANGE, and
/// ends a stream of reflection's.
const QUESTION_MAX: usize = 1 << 10;

/// Everything that answers on the port. `in_flight` bounds the calls of the contract that are being answered.
///
/// # Errors
///
/// For operators: the descriptors are broken.
pub fn router(
    games: Games,
    health: HealthServer<impl Health>,
    in_flight: InFlight,
) -> Result<Router, tonic_reflection::server::Error> {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = Routes::new(GameServiceServer::new(games))
        .add_service(reflection().build_v1()?.max_decoding_message_size(QUESTION_MAX))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(QUESTION_MAX))
        .add_service(health.max_decoding_message_size(QUESTION_MAX));
    Ok(routes.into_axum_router().layer(middleware::from_fn_with_state(in_flight, layers::pass)))
}

/// Lets pages of any origin call: a call's right is the token that it shows, and nothing that a browser adds by itself.
pub fn cors() -> CorsLayer {
    let grpc = ["grpc-status", "grpc-message", "grpc-status-details-bin", "traceparent"];
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods(Any)
        .allow_headers(Any)
        .expose_headers(grpc.map(HeaderName::from_static))
}

fn serving(serving: bool) -> ServingStatus {
    if serving { ServingStatus::Serving } else { ServingStatus::NotServing }
}

/// Says whether the process lives and does not drain, under the empty name.
pub async fn report_alive(health: &HealthReporter, alive: bool) {
    health.set_service_status("", serving(alive)).await;
}

/// Says whether calls of the contract are welcome, under its name.
pub async fn report_ready(health: &HealthReporter, ready: bool) {
    health.set_service_status(HEALTH_NAME, serving(ready)).await;
}
