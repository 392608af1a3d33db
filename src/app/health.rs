//! Asks a running server whether it is well, for what cannot speak gRPC itself: a container's health check, a script.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tokio::time::timeout;
use tonic::{Code, transport::Endpoint};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::api::HEALTH_NAME;

/// How long connecting and the answer may take together.
const HEALTH_ANSWER: Duration = Duration::from_secs(3);

/// Asks the server at `address` whether it is ready: whether its store can do its part. With `live`, only whether the
/// process is there and not draining. An unspecified address, at which a server listens everywhere, is taken as loopback.
/// Answers with a line for people.
///
/// # Errors
///
/// Such a line as well: it does not answer in time, or says something else than SERVING.
pub async fn ask(address: SocketAddr, live: bool) -> Result<String, String> {
    let address = reachable(address);
    let service = if live { "" } else { HEALTH_NAME };
    match timeout(HEALTH_ANSWER, status(address, service)).await {
        Ok(Ok(ServingStatus::Serving)) => Ok(format!("{address} is SERVING")),
        Ok(Ok(status)) => Err(format!("{address} is {}", status.as_str_name())),
        Ok(Err(problem)) => Err(format!("{address}: {problem}")),
        Err(_) => Err(format!("{address} does not answer within {HEALTH_ANSWER:?}")),
    }
}

async fn status(address: SocketAddr, service: &str) -> Result<ServingStatus, String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|error| format!("no address to ask: {error}"))?;
    let channel = endpoint.connect().await.map_err(|_| "nothing answers there".to_owned())?;
    let request = HealthCheckRequest { service: service.into() };
    match HealthClient::new(channel).check(request).await {
        Ok(answer) => Ok(answer.into_inner().status()),
        Err(status) if status.code() == Code::NotFound => Ok(ServingStatus::ServiceUnknown),
        Err(status) => Err(format!("{}: {}", status.code(), status.message())),
    }
}

fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
