//! A client without a gRPC library: whatever headers and bytes a test wants, over HTTP/2 or HTTP/1.1.

use std::{convert::Infallible, net::SocketAddr};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    client::conn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::PATIENCE;

pub type Body = BoxBody<Bytes, Infallible>;

/// What HTTP says, before or after the message.
#[derive(Clone, Debug)]
pub struct Answer {
    pub http: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: HeaderMap,
}

impl Answer {
    /// The gRPC status, wherever it stands; none when this is no answer of gRPC.
    pub fn status(&self) -> Option<Status> {
        Status::from_header_map(&self.trailers).or_else(|| Status::from_header_map(&self.headers))
    }

    /// What a client counts against its limit: RFC 9113, section 6.5.2.
    pub fn header_bytes(&self) -> usize {
        let size = |headers: &HeaderMap| {
            headers.iter().map(|(k, v)| k.as_str().len() + v.len() + 32).sum::<usize>()
        };
        size(&self.headers) + size(&self.trailers)
    }
}

/// One connection.
#[derive(Clone)]
pub struct Raw {
    address: SocketAddr,
    send: conn::http2::SendRequest<Body>,
}

impl Raw {
    /// Connects with HTTP/2.
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server accepts");
        stream.set_nodelay(true).expect("a socket of this machine");
        let (send, connection) = conn::http2::Builder::new(TokioExecutor::new())
            .handshake(TokioIo::new(stream))
            .await
            .expect("the server speaks HTTP/2");
        tokio::spawn(connection);
        Self { address, send }
    }

    /// A POST of the contract's method, as gRPC wants it but for `headers`.
    pub fn post(&self, method: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
        let path = if method.starts_with('/') {
            method.to_owned()
        } else {
            format!("/reversi.v1.GameService/{method}")
        };
        let mut request =
            Request::post(format!("http://{}{path}", self.address)).body(body).expect("a request");
        let defaults = [("content-type", "application/grpc"), ("te", "trailers")];
        for (name, value) in defaults.iter().chain(headers) {
            let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let value = http::HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            request.headers_mut().insert(name, value);
        }
        request
    }

    /// Sends a request and answers once the head of the response is here.
    pub async fn open(&self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        let answered = timeout(PATIENCE, self.send.clone().send_request(request)).await;
        answered.expect("an answer comes in time")
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&self, request: Request<Body>) -> hyper::Result<Answer> {
        let response = self.open(request).await?;
        timeout(PATIENCE, read(response)).await.expect("the answer ends in time")
    }

    /// Calls a method with these bytes as the whole body.
    pub async fn call(&self, method: &str, headers: &[(&str, &str)], body: Bytes) -> Answer {
        let request = self.post(method, headers, full(body));
        self.send(request).await.expect("an answer, not a broken stream")
    }

    /// Calls a method with one message.
    pub async fn message(&self, method: &str, message: &[u8]) -> Answer {
        self.call(method, &[], framed(0, message)).await
    }
}

/// One exchange over HTTP/1.1, on a connection of its own.
pub async fn http1(address: SocketAddr, request: Request<Body>) -> Response<Incoming> {
    let stream = TcpStream::connect(address).await.expect("the server accepts");
    let (mut send, connection) =
        conn::http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    let answered = timeout(PATIENCE, send.send_request(request)).await;
    answered.expect("an answer comes in time").expect("an answer comes")
}

/// The whole of a response.
pub async fn read(response: Response<Incoming>) -> hyper::Result<Answer> {
    let (head, body) = response.into_parts();
    let collected = body.collect().await?;
    Ok(Answer {
        http: head.status,
        headers: head.headers,
        trailers: collected.trailers().cloned().unwrap_or_default(),
        body: collected.to_bytes(),
    })
}

pub fn full(bytes: Bytes) -> Body {
    Full::new(bytes).boxed()
}

/// A body that begins with these bytes, and ends only when the sender is dropped.
pub fn unfinished(begin: &'static [u8]) -> (mpsc::Sender<Result<Frame<Bytes>, Infallible>>, Body) {
    let (parts, body) = mpsc::channel(1);
    parts.try_send(Ok(Frame::data(Bytes::from_static(begin)))).expect("there is room for one");
    (parts, BodyExt::boxed(StreamBody::new(ReceiverStream::new(body))))
}

/// A message as gRPC frames it, under any flag.
pub fn framed(flag: u8, message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(5 + message.len());
    framed.put_u8(flag);
    framed.put_u32(u32::try_from(message.len()).expect("no message is that long"));
    framed.put_slice(message);
    framed.freeze()
}
