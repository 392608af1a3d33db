//! The connection to a server: one channel that connects when it is first used, and again whenever it must.

use std::time::Duration;

use reversi_proto::v1::game_service_client::GameServiceClient;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use crate::args::Global;
use crate::errors::Failure;
use crate::output::Output;

/// The generated client.
pub type Client = GameServiceClient<InterceptedService<Channel, Trace>>;

/// The trace that whoever started the program wants its calls to belong to.
#[derive(Clone, Debug)]
pub struct Trace(Option<MetadataValue<Ascii>>);

impl Trace {
    /// From the variable that tools agree on.
    fn from_environment() -> Self {
        Self(std::env::var("TRACEPARENT").ok().and_then(|value| value.parse().ok()))
    }
}

impl Interceptor for Trace {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("traceparent", value.clone());
        }
        Ok(request)
    }
}

/// How long to wait for a connection. It bounds an address that swallows packets; a port that nobody listens on answers at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A page of 500 games with full labels is about 6 MiB.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A server to talk to, and how. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The generated client; clones share the connection.
    pub client: Client,
    /// How long one attempt of a call may take.
    pub timeout: Duration,
    /// Where results and remarks go.
    pub output: Output,
}

impl Connection {
    /// Prepares to talk to the server that the flags name. Does not connect yet.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] when the address cannot be one.
    pub fn new(global: &Global, output: Output) -> Result<Self, Failure> {
        let url = match global.server.split_once("://") {
            Some(("http", _)) => global.server.clone(),
            None => format!("http://{}", global.server),
            Some((scheme, _)) => {
                return Err(Failure::Usage(format!(
                    "--server: cannot speak {scheme}://, only http://HOST:PORT"
                )));
            }
        };
        let endpoint = Endpoint::from_shared(url)
            .map_err(|error| Failure::Usage(format!("--server: {error}: needs http://HOST:PORT")))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10));
        let client =
            GameServiceClient::with_interceptor(endpoint.connect_lazy(), Trace::from_environment())
                .max_decoding_message_size(MESSAGE_BYTES_MAX);
        Ok(Self { client, timeout: global.timeout, output })
    }
}
