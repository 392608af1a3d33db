//! A client that knows the address alone can ask what is served here and whether it is well.

mod common;

use std::collections::BTreeSet;

use common::*;
use prost::Message as _;
use prost_types::FileDescriptorProto;
use tokio_stream::StreamExt as _;
use tonic::{Code, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

on_every_store!(
    health_answers_for_the_server_and_for_the_contract,
    reflection_v1_tells_the_services_and_the_contract,
    reflection_v1alpha_tells_the_services_and_the_contract,
);

async fn channel(server: &TestServer) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{}", server.address)).expect("an address");
    endpoint.connect().await.expect("the server accepts")
}

async fn health_answers_for_the_server_and_for_the_contract(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut health = HealthClient::new(channel(&server).await);
    for service in ["", "reversi.v1.GameService"] {
        let request = HealthCheckRequest { service: service.into() };
        let answer = health.check(request.clone()).await.expect("it is known").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
        let mut watch = health.watch(request).await.expect("it is known").into_inner();
        let first = watch.message().await.expect("a status").expect("a status");
        assert_eq!(first.status(), ServingStatus::Serving);
    }
    for (service, code) in [
        ("no.such.Service".to_owned(), Code::NotFound),
        ("x".repeat(1_000), Code::NotFound),
        ("x".repeat(1 << 20), Code::OutOfRange),
    ] {
        let unknown = health.check(HealthCheckRequest { service }).await;
        assert_eq!(unknown.expect_err("it is not known").code(), code);
    }
}

/// What both versions of reflection are held to; their types differ in their package alone.
macro_rules! reflection {
    ($test:ident, $version:ident) => {
        async fn $test(store: StoreKind) {
            use tonic_reflection::pb::$version::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest,
                server_reflection_response::MessageResponse,
            };
            let server = TestServer::start(store).await;
            let mut client = ServerReflectionClient::new(channel(&server).await);
            let mut ask = async |question| {
                let request = ServerReflectionRequest {
                    host: String::new(),
                    message_request: Some(question),
                };
                let asked = client.server_reflection_info(tokio_stream::once(request)).await;
                let answer = asked?.into_inner().next().await.transpose()?;
                Ok::<_, tonic::Status>(answer.and_then(|answer| answer.message_response))
            };

            let listed = ask(MessageRequest::ListServices(String::new())).await;
            let Ok(Some(MessageResponse::ListServicesResponse(services))) = listed else {
                panic!("{listed:?}")
            };
            let services: BTreeSet<_> =
                services.service.into_iter().map(|service| service.name).collect();
            for service in ["reversi.v1.GameService", "grpc.health.v1.Health"] {
                assert!(services.contains(service), "{service} in {services:?}");
            }

            for symbol in ["reversi.v1.GameService", "reversi.v1.GameService.WatchGame"] {
                let found = ask(MessageRequest::FileContainingSymbol(symbol.into())).await;
                let Ok(Some(MessageResponse::FileDescriptorResponse(files))) = found else {
                    panic!("{found:?}")
                };
                let files: Vec<_> = files
                    .file_descriptor_proto
                    .iter()
                    .map(|file| FileDescriptorProto::decode(file.as_slice()).expect("a descriptor"))
                    .collect();
                let methods = files.iter().flat_map(|file| &file.service).flat_map(|at| &at.method);
                assert!(methods.into_iter().any(|method| method.name() == "WatchGame"));
            }
            for symbol in ["no.such.Symbol".to_owned(), "é".repeat(500)] {
                let unknown = ask(MessageRequest::FileContainingSymbol(symbol)).await;
                assert_eq!(unknown.expect_err("it is not known").code(), Code::NotFound);
            }
            let long = ask(MessageRequest::FileContainingSymbol("x".repeat(1 << 20))).await;
            assert_eq!(long.expect("a stream that ends"), None, "no name is that long");
        }
    };
}

reflection!(reflection_v1_tells_the_services_and_the_contract, v1);
reflection!(reflection_v1alpha_tells_the_services_and_the_contract, v1alpha);
