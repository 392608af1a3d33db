//! A collector of traces and metrics, by OTLP over gRPC, that keeps all it gets.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{Metric, metric::Data, number_data_point},
    resource::v1::Resource,
    trace::v1::span::SpanKind,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use super::until;

/// A span, with what its process says of itself.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    pub kind: SpanKind,
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub attributes: BTreeMap<String, String>,
    /// Trace and span of each.
    pub links: Vec<(String, String)>,
    /// Of OTLP: 0 unset, 2 error.
    pub status: i32,
    pub resource: BTreeMap<String, String>,
    pub schema: String,
}

/// What was received.
#[derive(Clone, Default)]
pub struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    /// The last of each process, by its instance.
    metrics: Arc<Mutex<BTreeMap<String, Vec<Metric>>>>,
}

fn text(value: &Option<AnyValue>) -> String {
    match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        other => format!("{other:?}"),
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    list.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

fn of(resource: &Option<Resource>) -> BTreeMap<String, String> {
    resource.as_ref().map(|resource| attributes(&resource.attributes)).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for group in request.into_inner().resource_spans {
            for scope in &group.scope_spans {
                let spans = scope.spans.iter().map(|span| Span {
                    name: span.name.clone(),
                    kind: span.kind(),
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    attributes: attributes(&span.attributes),
                    links: (span.links.iter())
                        .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
                        .collect(),
                    status: span.status.as_ref().map_or(0, |status| status.code),
                    resource: of(&group.resource),
                    schema: scope.schema_url.clone(),
                });
                self.spans.lock().expect("no panic").extend(spans);
            }
        }
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        for group in request.into_inner().resource_metrics {
            let instance = of(&group.resource).remove("service.instance.id").unwrap_or_default();
            let metrics = group.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
            self.metrics.lock().expect("no panic").insert(instance, metrics.collect());
        }
        Ok(Response::new(Default::default()))
    }
}

impl Collector {
    /// Listens on a free port of this machine; answers with its URL too.
    pub async fn start() -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address: SocketAddr = listener.local_addr().expect("it is bound");
        let server = Server::builder()
            .add_service(TraceServiceServer::new(collector.clone()))
            .add_service(MetricsServiceServer::new(collector.clone()));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (collector, format!("http://{address}"))
    }

    /// Every span so far.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().expect("no panic").clone()
    }

    /// Every span of this name so far.
    pub fn named(&self, name: &str) -> Vec<Span> {
        self.spans().into_iter().filter(|span| span.name == name).collect()
    }

    /// Waits until there are so many spans of this name.
    pub async fn wait_for(&self, count: usize, name: &str) -> Vec<Span> {
        let what = format!("{count} spans of {name}");
        until(&what, async || self.named(name).len() >= count).await;
        self.named(name)
    }

    /// The processes that sent metrics.
    pub fn instances(&self) -> usize {
        self.metrics.lock().expect("no panic").len()
    }

    /// The sum over all processes of a metric's points that have these attributes; of a histogram, of its counts.
    pub fn sum(&self, metric: &str, wanted: &[(&str, &str)]) -> f64 {
        let has = |list: &[KeyValue]| {
            let own = attributes(list);
            wanted.iter().all(|(key, value)| own.get(*key).is_some_and(|own| own == value))
        };
        let number = |value: &Option<number_data_point::Value>| match value {
            Some(number_data_point::Value::AsInt(number)) => *number as f64,
            Some(number_data_point::Value::AsDouble(number)) => *number,
            None => 0.0,
        };
        let all = self.metrics.lock().expect("no panic");
        let matching = all.values().flatten().filter(|own| own.name == metric);
        let sums = matching.map(|metric| match metric.data.as_ref().expect("data") {
            Data::Sum(sum) => {
                let points = sum.data_points.iter().filter(|point| has(&point.attributes));
                points.map(|point| number(&point.value)).sum::<f64>()
            }
            Data::Gauge(gauge) => {
                let points = gauge.data_points.iter().filter(|point| has(&point.attributes));
                points.map(|point| number(&point.value)).sum()
            }
            Data::Histogram(histogram) => {
                let points = histogram.data_points.iter().filter(|point| has(&point.attributes));
                points.map(|point| point.count as f64).sum()
            }
            other => panic!("no instrument of ours makes {other:?}"),
        });
        sums.sum()
    }
}
