//! What is told of every call: its span, its metrics, and a line in the log. Of health and reflection, nothing.

use std::{future::Future, time::Instant};

use axum::{extract::Request, response::Response};
use http::{HeaderMap, Uri};
use reversi_proto::code_name;
use tonic::{Code, Status};

use super::status::{Reason, status};
use crate::{
    error::Error,
    model::Deadline,
    telemetry::{CallSpan, OTHER, Telemetry},
};

/// The methods of the contract, by their full names. Whatever else is called has no name of its own in metrics.
const METHODS: [&str; 13] = [
    "reversi.v1.GameService/CreateGame",
    "reversi.v1.GameService/JoinGame",
    "reversi.v1.GameService/GetGame",
    "reversi.v1.GameService/ListGames",
    "reversi.v1.GameService/MakeMove",
    "reversi.v1.GameService/ResignGame",
    "reversi.v1.GameService/AbortGame",
    "reversi.v1.GameService/DeleteGame",
    "reversi.v1.GameService/WatchGame",
    "reversi.v1.GameService/ListGameEvents",
    "reversi.v1.GameService/CreateLayout",
    "reversi.v1.GameService/GetLayout",
    "reversi.v1.GameService/ExportGame",
];

/// What health and reflection are called under.
const QUESTIONS: [&str; 3] = [
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
];

/// A call that is told of: until the headers of its answer are there, which for a watch is until it is open.
pub struct Call<'a> {
    telemetry: &'a Telemetry,
    uri: Uri,
    method: Option<&'static str>,
    span: CallSpan,
    begun: Instant,
    deadline: Option<Deadline>,
    answered: bool,
}

/// The caller did not wait for the answer: because of its deadline, for which its own clock is the first to act, or of its
/// own accord.
impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let (code, reason) = match self.deadline.is_some_and(Deadline::is_near) {
                true => told(&status(Error::Deadline)),
                false => (code_name(Code::Cancelled), None),
            };
            let _within = self.span.enter();
            self.tell("not waited for", code, reason);
            self.span.end(code, reason, &mut HeaderMap::new());
        }
    }
}

impl<'a> Call<'a> {
    /// Begins with `request`, unless it is one that nothing is told of.
    pub fn begin(
        telemetry: &'a Telemetry,
        request: &Request,
        deadline: Option<Deadline>,
    ) -> Option<Self> {
        let uri = request.uri().clone();
        let path = uri.path();
        if QUESTIONS.iter().any(|service| path.starts_with(service)) {
            return None;
        }
        let method = METHODS.into_iter().find(|method| path.strip_prefix('/') == Some(method));
        let span = telemetry.spans.call(method, path, request.headers());
        let begun = Instant::now();
        Some(Self { telemetry, uri, method, span, begun, deadline, answered: false })
    }

    /// Answers it with what `call` gives.
    pub async fn answer(mut self, call: impl Future<Output = Response>) -> Response {
        let told = async {
            let response = call.await;
            let (code, reason) = outcome(&response);
            self.tell("answered", code, reason);
            (response, code, reason)
        };
        let (mut response, code, reason) = self.span.within(told).await;
        self.span.end(code, reason, response.headers_mut());
        self.answered = true;
        response
    }

    /// Counts and logs what became of it.
    fn tell(&self, what: &str, code: &'static str, reason: Option<&'static str>) {
        let took = self.begun.elapsed();
        self.telemetry.metrics.call(self.method.unwrap_or(OTHER), code, took);
        if let Some(reason) = reason {
            self.telemetry.metrics.refusal(reason);
        }
        // What is our fault was logged, with its cause, where the status was made.
        let (path, millis) = (self.uri.path(), took.as_millis() as u64);
        tracing::debug!(path, code, reason, millis, "{what}");
    }
}

/// The name of a status's code and, of one of ours, its reason.
fn told(status: &Status) -> (&'static str, Option<&'static str>) {
    (code_name(status.code()), Reason::of(status))
}

/// The same of an answer.
fn outcome(response: &Response) -> (&'static str, Option<&'static str>) {
    if let Some(status) = response.extensions().get::<Status>() {
        return told(status);
    }
    let status = response.headers().get("grpc-status");
    (status.map_or("OK", |code| code_name(Code::from_bytes(code.as_bytes()))), None)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    #[test]
    fn every_method_of_the_contract_is_known() {
        let set = prost_types::FileDescriptorSet::decode(reversi_proto::DESCRIPTORS);
        let mut methods = Vec::new();
        for file in set.expect("the descriptors are sound").file {
            for service in &file.service {
                let full = |method: &prost_types::MethodDescriptorProto| {
                    format!("{}.{}/{}", file.package(), service.name(), method.name())
                };
                methods.extend(service.method.iter().map(full));
            }
        }
        methods.sort();
        let mut known = super::METHODS;
        known.sort();
        assert_eq!(known.as_slice(), methods);
    }
}
