//! The metrics that a consumer pushes: those of its coordinator, its fetches and its client's connections, in the
//! groups of Java's consumer.

use crate::consumer::state::ConsumerState;
use crate::telemetry::source::{self, Measurement, Source};

impl Source for ConsumerState {
    fn measure(&self) -> Vec<Measurement> {
        let read_committed = self.read_committed();
        let (assigned, lag) = {
            let mut subscriptions = self.subscriptions.lock();
            let assigned = subscriptions.partitions().count();
            (assigned, subscriptions.states().filter_map(|(_, state)| state.lag(read_committed)).max())
        };
        let mut all = source::named("consumer.coordinator", self.metrics.coordinator(assigned));
        all.extend(source::named("consumer.fetch.manager", self.metrics.fetch(lag)));
        all.extend(source::named("consumer", self.metrics.polls()));
        all.extend(self.client.measure("consumer"));
        all
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let config = self.client.config();
        let member = self.group_metadata();
        let member_id = member.as_ref().map_or("", |member| &member.member_id);
        source::attributes([
            ("client_rack", &config.client_rack),
            ("group_id", &config.group_id),
            ("group_instance_id", &config.group_instance_id),
            ("group_member_id", member_id),
        ])
    }
}
