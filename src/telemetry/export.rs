//! Sends traces and metrics by OTLP, and keeps the registry that the Prometheus text is written from.
//!
//! Spans wait in the SDK's bounded queue, and are dropped when it is full; threads of the SDK's own send them. Nobody who
//! serves a call waits for a collector, and the end of the process only within [`FLUSH_MAX`].

use std::{sync::Arc, time::Duration};

use opentelemetry::{
    InstrumentationScope, KeyValue, metrics::MeterProvider as _, trace::TracerProvider as _,
};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    metrics::SdkMeterProvider,
    resource::{EnvResourceDetector, TelemetryResourceDetector},
    trace::SdkTracerProvider,
};
use prometheus::{Registry, TextEncoder};
use tokio::{task::spawn_blocking, time::timeout};
use uuid::Uuid;

use super::{
    Telemetry,
    conventions::{SCHEMA_URL, SERVICE_INSTANCE_ID, SERVICE_VERSION},
    metrics::Metrics,
    spans::Spans,
};
use crate::build_info;

/// How long the end of the process waits for the last spans and metrics to be sent.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// The name of the service, unless a variable of the SDK's gives another.
const SERVICE_NAME: &str = "reversid";

/// What goes where.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// The collector's URL, for OTLP over gRPC.
    pub otlp_endpoint: Option<String>,
    /// Whether somebody will ask for the Prometheus text.
    pub scraped: bool,
}

/// What runs as long as the process to send what the parts tell.
pub struct Export {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    registry: Registry,
}

impl Export {
    /// Begins, within the runtime that the sending will run on. Does not wait for the collector, now or later.
    ///
    /// # Errors
    ///
    /// For people: a setting of the SDK's that it cannot work with.
    pub fn start(settings: &ExportSettings) -> Result<(Self, Telemetry), String> {
        let registry = Registry::new();
        let mut export = Self { traces: None, metrics: None, registry };
        if settings.otlp_endpoint.is_none() && !settings.scraped {
            return Ok((export, Telemetry::off()));
        }
        let cannot = |error: &dyn std::fmt::Display| format!("telemetry cannot begin: {error}");
        let resource = resource();
        let mut metrics = SdkMeterProvider::builder().with_resource(resource.clone());
        if let Some(endpoint) = &settings.otlp_endpoint {
            let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build();
            let exporter = exporter.map_err(|error| cannot(&error))?;
            let traces = SdkTracerProvider::builder().with_resource(resource);
            export.traces = Some(traces.with_batch_exporter(exporter).build());
            let exporter = MetricExporter::builder().with_tonic().with_endpoint(endpoint).build();
            metrics = metrics.with_periodic_exporter(exporter.map_err(|error| cannot(&error))?);
        }
        if settings.scraped {
            let reader = opentelemetry_prometheus::exporter()
                .with_registry(export.registry.clone())
                .scope_info_enabled(false)
                .build();
            metrics = metrics.with_reader(reader.map_err(|error| cannot(&error))?);
        }
        let metrics = metrics.build();
        let scope = InstrumentationScope::builder(SERVICE_NAME)
            .with_version(build_info::VERSION)
            .with_schema_url(SCHEMA_URL)
            .build();
        let tracer = export.traces.as_ref();
        let tracer = tracer.map(|traces| traces.tracer_with_scope(scope.clone()));
        let instruments = Metrics::new(&metrics.meter_with_scope(scope));
        export.metrics = Some(metrics);
        Ok((export, Telemetry { spans: Spans::new(tracer), metrics: Arc::new(instruments) }))
    }

    /// Whether anything is sent or served.
    pub fn is_on(&self) -> bool {
        self.metrics.is_some()
    }

    /// Every metric, for whoever asks for the Prometheus text.
    pub fn scrape(&self) -> Scrape {
        Scrape(self.registry.clone())
    }

    /// Sends what is left, for so long as `FLUSH_MAX`, and nothing after it.
    pub async fn flush(self) {
        let Self { traces, metrics, registry: _ } = self;
        // Apart from the workers, which do the sending that is waited for here; and apart from each other.
        let traces =
            spawn_blocking(move || traces.map(|traces| traces.shutdown_with_timeout(FLUSH_MAX)));
        let metrics =
            spawn_blocking(move || metrics.map(|metrics| metrics.shutdown_with_timeout(FLUSH_MAX)));
        let flushed = timeout(FLUSH_MAX, async {
            let answers = [traces.await, metrics.await];
            answers.into_iter().all(|answer| matches!(answer, Ok(None | Some(Ok(())))))
        });
        if !flushed.await.unwrap_or(false) {
            tracing::warn!("the last traces and metrics may not have reached the collector");
        }
    }
}

/// The metrics as the Prometheus text format has them. Cheap to clone.
#[derive(Clone)]
pub struct Scrape(Registry);

impl Scrape {
    /// Every metric as it is now.
    ///
    /// # Errors
    ///
    /// For people: what could not be written.
    pub fn text(&self) -> Result<String, String> {
        TextEncoder::new().encode_to_string(&self.0.gather()).map_err(|error| error.to_string())
    }
}

/// Who we are: the variables of the SDK's over our own.
fn resource() -> Resource {
    let named = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let resource = Resource::builder_empty()
        .with_service_name(SERVICE_NAME)
        .with_attributes([
            KeyValue::new(SERVICE_VERSION, build_info::VERSION),
            KeyValue::new(SERVICE_INSTANCE_ID, Uuid::new_v4().to_string()),
        ])
        .with_detectors(&[
            Box::new(TelemetryResourceDetector),
            Box::new(EnvResourceDetector::new()),
        ]);
    match named {
        Some(name) => resource.with_service_name(name),
        None => resource,
    }
    .build()
}
