//! Proves: every field of a response that has a host or a port is handled.

use ottla_protocol::{ApiKey, Message};

/// Fields with hosts, ports or endpoints that are not those of brokers: of clients, of rules for clients, or of the
/// applications of a streams group.
const NO_ADDRESS_OF_A_BROKER: [(&str, &str); 13] = [
    ("DescribeGroupsResponse", "client_host"),
    ("ConsumerGroupDescribeResponse", "client_host"),
    ("ShareGroupDescribeResponse", "client_host"),
    ("StreamsGroupDescribeResponse", "client_host"),
    ("DescribeAclsResponse", "host"),
    ("DeleteAclsResponse", "host"),
    ("StreamsGroupDescribeResponse", "user_endpoint"),
    ("StreamsGroupDescribeResponse", "host"),
    ("StreamsGroupDescribeResponse", "port"),
    ("StreamsGroupHeartbeatResponse", "partitions_by_user_endpoint"),
    ("StreamsGroupHeartbeatResponse", "user_endpoint"),
    ("StreamsGroupHeartbeatResponse", "host"),
    ("StreamsGroupHeartbeatResponse", "port"),
];

fn is_address(field: &str) -> bool {
    let named = ["host", "port", "endpoint", "endpoints", "listener", "address"];
    field.split('_').any(|word| named.contains(&word))
        && !field.ends_with("epoch")
        && !field.ends_with("type")
}

#[test]
fn every_field_with_a_host_or_a_port_is_handled() {
    let mut found = std::collections::BTreeSet::new();
    macro_rules! collect {
        ($message:ty) => {
            let schema = <$message as Message>::SCHEMA;
            for (_, fields) in schema.structs {
                for field in *fields {
                    if is_address(field.name) {
                        found.insert((schema.name, field.name));
                    }
                }
            }
        };
    }
    ottla_protocol::for_each_message!(collect);
    let mut unhandled = Vec::new();
    for (message, field) in &found {
        let api = ApiKey::ALL.iter().find(|api| format!("{}Response", api.name()) == *message);
        let Some(api) = api else { continue };
        let is_rewritten =
            crate::rewrite::treatment(*api, api.versions().1) != crate::rewrite::Treatment::Pass;
        if !is_rewritten && !NO_ADDRESS_OF_A_BROKER.contains(&(*message, *field)) {
            unhandled.push((*message, *field));
        }
    }
    assert_eq!(unhandled, [], "fields that may have the address of a broker");
    for (message, field) in NO_ADDRESS_OF_A_BROKER {
        assert!(found.contains(&(message, field)), "{message}.{field} does not exist");
    }
}
