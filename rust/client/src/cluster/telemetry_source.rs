//! The metrics that a client without producers and consumers pushes: those of its connections, in the group of Java's
//! admin client.

use std::sync::Weak;

use super::{Client, Inner};
use crate::telemetry::source::{self, Measurement, Source};

/// The client, unless it is gone.
#[derive(Debug)]
pub(super) struct ClientSource(pub(super) Weak<Inner>);

impl Client {
    /// The metrics of the connections, in a group of Java's client.
    pub(crate) fn measure(&self, group: &str) -> Vec<Measurement> {
        let mut all = source::named(group, self.metrics());
        all.extend(source::node_latencies(group, &self.inner.settings.metrics.node_latencies()));
        all
    }
}

impl Source for ClientSource {
    fn measure(&self) -> Vec<Measurement> {
        let inner = self.0.upgrade();
        inner.map(|inner| Client::of(inner).measure("admin.client")).unwrap_or_default()
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let inner = self.0.upgrade();
        inner
            .map(|inner| source::attributes([("client_rack", &inner.config.client_rack)]))
            .unwrap_or_default()
    }
}
