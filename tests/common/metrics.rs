//! Reads the Prometheus text of a running server, as a scraper would.

use std::{collections::BTreeMap, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::PATIENCE;

/// The samples of one scrape, by their names with labels as they stand in the text.
#[derive(Clone, Debug)]
pub struct Samples {
    pub text: String,
    values: BTreeMap<String, f64>,
}

/// Says something to an HTTP/1 server, and reads until it closes.
pub async fn http(address: SocketAddr, request: &str) -> String {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.expect("the admin port accepts");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers in UTF-8");
        answer
    };
    timeout(PATIENCE, exchange).await.expect("it answers in time")
}

/// Scrapes once.
pub async fn scrape(admin: SocketAddr) -> Samples {
    let answer = http(admin, "GET /metrics HTTP/1.1\r\nhost: here\r\n\r\n").await;
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let samples = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let values = samples.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    Samples { text: text.to_owned(), values: values.collect() }
}

impl Samples {
    /// The sum of a metric's samples that have all these labels, each as `name="value"`.
    pub fn sum(&self, metric: &str, labels: &[&str]) -> f64 {
        let matching = self.values.iter().filter(|(name, _)| {
            let (own, rest) = name.split_once('{').unwrap_or((name, ""));
            own == metric && labels.iter().all(|label| rest.contains(label))
        });
        matching.map(|(_, value)| value).sum()
    }

    /// Whether there is a sample, whatever its value.
    pub fn has(&self, metric: &str, label: &str) -> bool {
        self.values.keys().any(|name| {
            let (own, rest) = name.split_once('{').unwrap_or((name, ""));
            own == metric && rest.contains(label)
        })
    }

    /// The metrics there are, by their types.
    pub fn types(&self) -> BTreeMap<&str, &str> {
        let types = self.text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types.filter_map(|line| line.split_once(' ')).collect()
    }

    /// Every value that a label has.
    pub fn values_of(&self, label: &str) -> std::collections::BTreeSet<&str> {
        let marker = format!("{label}=\"");
        let values = self.values.keys().filter_map(|name| {
            let at = name.find(&marker)?;
            name[at + marker.len()..].split('"').next()
        });
        values.collect()
    }
}
