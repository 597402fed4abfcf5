//! DescribeClientQuotas and AlterClientQuotas. The expected results are those of Kafka 4.4.

use crate::support::*;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasRequest, EntityData, EntryData, OpData,
};
use ottla_protocol::messages::describe_client_quotas::{ComponentData, DescribeClientQuotasRequest};

type Entity<'a> = &'a [(&'a str, Option<&'a str>)];
type Change<'a> = (&'a str, Option<f64>);

const USER: Entity<'_> = &[("user", Some("u"))];
const CLIENT: Entity<'_> = &[("client-id", Some("c"))];
const BOTH: Entity<'_> = &[("client-id", Some("c")), ("user", Some("u"))];
const ANY_USER: Entity<'_> = &[("user", None)];
const ADDRESS: Entity<'_> = &[("ip", Some("1.2.3.4"))];
const RATE: &str = "consumer_byte_rate";

fn entry(entity: Entity<'_>, changes: &[Change<'_>]) -> EntryData {
    let name = |(kind, name): &(&str, Option<&str>)| EntityData {
        entity_type: (*kind).to_owned(),
        entity_name: name.map(str::to_owned),
    };
    let op = |(key, value): &Change<'_>| OpData {
        key: (*key).to_owned(),
        value: value.unwrap_or_default(),
        remove: value.is_none(),
    };
    EntryData { entity: entity.iter().map(name).collect(), ops: changes.iter().map(op).collect() }
}

async fn alter(
    raw: &mut RawClient,
    entries: Vec<EntryData>,
    validate_only: bool,
) -> Vec<(ErrorCode, Option<String>)> {
    let request = AlterClientQuotasRequest { entries, validate_only };
    let entries = raw.call(&request, 1).await.entries;
    entries.into_iter().map(|entry| (entry.error_code.into(), entry.error_message)).collect()
}

fn filter(components: &[(&str, i8, Option<&str>)], strict: bool) -> DescribeClientQuotasRequest {
    let component = |(kind, match_type, name): &(&str, i8, Option<&str>)| ComponentData {
        entity_type: (*kind).to_owned(),
        match_type: *match_type,
        r#match: name.map(str::to_owned),
    };
    DescribeClientQuotasRequest { components: components.iter().map(component).collect(), strict }
}

type Found = Vec<(Vec<(String, Option<String>)>, Vec<(String, f64)>)>;

async fn found(raw: &mut RawClient, request: &DescribeClientQuotasRequest) -> Found {
    let response = raw.call(request, 1).await;
    assert_eq!((response.error_code, response.error_message.as_deref()), (0, Some("")));
    let entries = response.entries.unwrap().into_iter();
    let plain = entries.map(|entry| {
        let entity = entry.entity.into_iter().map(|e| (e.entity_type, e.entity_name)).collect();
        (entity, entry.values.into_iter().map(|v| (v.key, v.value)).collect())
    });
    plain.collect()
}

fn expected(entries: &[(Entity<'_>, &[(&str, f64)])]) -> Found {
    let entity = |entity: Entity<'_>| {
        entity.iter().map(|(kind, name)| ((*kind).to_owned(), name.map(str::to_owned))).collect()
    };
    let values = |values: &[(&str, f64)]| values.iter().map(|(key, v)| ((*key).to_owned(), *v)).collect();
    entries.iter().map(|(e, v)| (entity(e), values(v))).collect()
}

#[tokio::test]
async fn filters_match_exact_names_defaults_and_any() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let entries = || {
        vec![
            entry(USER, &[(RATE, Some(1e6)), ("producer_byte_rate", Some(5.0))]),
            entry(CLIENT, &[(RATE, Some(2e6))]),
            entry(BOTH, &[("request_percentage", Some(50.5))]),
            entry(ANY_USER, &[(RATE, Some(7.0))]),
            entry(ADDRESS, &[("connection_creation_rate", Some(9.0))]),
        ]
    };
    assert_eq!(alter(&mut raw, entries(), true).await, vec![(ErrorCode::None, None); 5]);
    assert_eq!(found(&mut raw, &filter(&[], false)).await, vec![]);
    assert_eq!(alter(&mut raw, entries(), false).await, vec![(ErrorCode::None, None); 5]);
    let user: (Entity<'_>, &[(&str, f64)]) = (USER, &[(RATE, 1e6), ("producer_byte_rate", 5.0)]);
    let client: (Entity<'_>, &[(&str, f64)]) = (CLIENT, &[(RATE, 2e6)]);
    let both: (Entity<'_>, &[(&str, f64)]) = (BOTH, &[("request_percentage", 50.5)]);
    let any_user: (Entity<'_>, &[(&str, f64)]) = (ANY_USER, &[(RATE, 7.0)]);
    let address: (Entity<'_>, &[(&str, f64)]) = (ADDRESS, &[("connection_creation_rate", 9.0)]);
    let cases = [
        (filter(&[], false), vec![client, both, address, any_user, user]),
        (filter(&[], true), vec![]),
        (filter(&[("user", 0, Some("u"))], false), vec![both, user]),
        (filter(&[("user", 0, Some("u"))], true), vec![user]),
        (filter(&[("user", 1, None)], false), vec![any_user]),
        (filter(&[("user", 2, None)], false), vec![both, any_user, user]),
        (filter(&[("user", 2, None)], true), vec![any_user, user]),
        (filter(&[("user", 0, Some("u")), ("client-id", 0, Some("c"))], false), vec![both]),
        (filter(&[("ip", 2, None)], true), vec![address]),
        (filter(&[("user", 0, Some("x"))], false), vec![]),
    ];
    for (request, matching) in cases {
        assert_eq!(found(&mut raw, &request).await, expected(&matching), "{request:?}");
    }
    let removals =
        vec![entry(USER, &[(RATE, None)]), entry(CLIENT, &[(RATE, None), ("producer_byte_rate", None)])];
    assert_eq!(alter(&mut raw, removals, false).await, vec![(ErrorCode::None, None); 2]);
    let rest: (Entity<'_>, &[(&str, f64)]) = (USER, &[("producer_byte_rate", 5.0)]);
    let left = found(&mut raw, &filter(&[], false)).await;
    assert_eq!(left, expected(&[both, address, any_user, rest]));
    for version in 0..=1 {
        assert_eq!(raw.call(&filter(&[], false), version).await.entries.unwrap().len(), 4);
        let request = AlterClientQuotasRequest { entries: vec![entry(CLIENT, &[])], validate_only: false };
        assert_eq!(raw.call(&request, version).await.entries[0].error_code, 0);
    }
}

#[tokio::test]
async fn invalid_quotas_are_rejected() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let cases: [(Entity<'_>, Change<'_>, &str); 14] = [
        (&[], (RATE, Some(1.0)), "Invalid empty client quota entity"),
        (&[("group", Some("g"))], (RATE, Some(1.0)), "Unhandled client quota entity type: group"),
        (&[("user", Some(""))], (RATE, Some(1.0)), "Empty user not supported"),
        (
            &[("user", Some("u")), ("ip", None)],
            (RATE, Some(1.0)),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (ADDRESS, (RATE, Some(1.0)), "Invalid configuration key consumer_byte_rate"),
        (USER, ("connection_creation_rate", Some(1.0)), "Invalid configuration key connection_creation_rate"),
        (USER, ("foo", Some(1.0)), "Invalid configuration key foo"),
        (USER, (RATE, Some(0.0)), "Quota consumer_byte_rate must be greater than 0"),
        (USER, (RATE, Some(-1.0)), "Quota consumer_byte_rate must be greater than 0"),
        (USER, (RATE, Some(1.5)), "consumer_byte_rate cannot be a fractional value."),
        (USER, (RATE, Some(1e30)), "Proposed value for consumer_byte_rate is too large for a LONG."),
        (
            ADDRESS,
            ("connection_creation_rate", Some(1e12)),
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (
            ADDRESS,
            ("connection_creation_rate", Some(1.5)),
            "connection_creation_rate cannot be a fractional value.",
        ),
        (
            &[("ip", Some("not an ip"))],
            ("connection_creation_rate", Some(1.0)),
            "not an ip is not a valid IP or resolvable host.",
        ),
    ];
    for (entity, change, message) in cases {
        let results = alter(&mut raw, vec![entry(entity, &[change])], false).await;
        assert_eq!(results, [(ErrorCode::InvalidRequest, Some(message.to_owned()))]);
    }
    let duplicate = "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})";
    let duplicate = vec![(ErrorCode::InvalidRequest, Some(duplicate.to_owned()))];
    let keys = vec![entry(USER, &[(RATE, Some(1.0)), (RATE, Some(2.0))])];
    assert_eq!(alter(&mut raw, keys, false).await, duplicate);
    assert_eq!(found(&mut raw, &filter(&[], false)).await, vec![]);
    // The first of two changes is accepted all the same.
    let entities = vec![entry(USER, &[(RATE, Some(1.0))]), entry(USER, &[(RATE, Some(2.0))])];
    assert_eq!(alter(&mut raw, entities, false).await, duplicate);
    assert_eq!(found(&mut raw, &filter(&[], false)).await, expected(&[(USER, &[(RATE, 1.0)])]));
    // A key that is not set can be removed, known or not.
    let results = alter(&mut raw, vec![entry(CLIENT, &[("foo", None)])], false).await;
    assert_eq!(results, [(ErrorCode::None, None)]);
}

#[tokio::test]
async fn invalid_filters_are_rejected() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let invalid = ErrorCode::InvalidRequest;
    let cases = [
        (filter(&[("", 0, Some("x"))], false), invalid, "Invalid empty entity type."),
        (
            filter(&[("foo", 0, Some("x"))], false),
            ErrorCode::UnsupportedVersion,
            "Unsupported entity type foo",
        ),
        (
            filter(&[("user", 0, None)], false),
            invalid,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            filter(&[("user", 1, Some("x"))], false),
            invalid,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            filter(&[("user", 2, Some("x"))], false),
            invalid,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        (filter(&[("user", 5, None)], false), invalid, "Unknown match type 5"),
        (
            filter(&[("user", 2, None), ("user", 2, None)], false),
            invalid,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            filter(&[("user", 2, None), ("ip", 2, None)], false),
            invalid,
            "Invalid entity filter component combination. IP filter component should not be used with user or \
             clientId filter component.",
        ),
    ];
    for (request, code, message) in cases {
        let response = raw.call(&request, 1).await;
        assert_eq!(ErrorCode::from(response.error_code), code);
        assert_eq!(response.error_message.as_deref(), Some(message));
        assert_eq!(response.entries, None);
    }
}
