//! Access control lists: the entries that administrators create. They are stored, not enforced: the mock behaves as a
//! broker with an authorizer to which every client is a super user.
//!
//! Invariant: every entry names a definite resource, operation and permission.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;

use super::ApiError;

const ANY: i8 = 1;
const CLUSTER: i8 = 4;
const CLUSTER_NAME: &str = "kafka-cluster";
const WILDCARD: &str = "*";

/// The type of pattern of filters that match all entries that affect a name.
const MATCH: i8 = 2;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;

/// The codes of a field: those of entries, and those that only filters have.
#[derive(Debug, Clone, Copy)]
struct Codes {
    name: &'static str,
    /// Whether only filters have a code.
    is_filter_only: fn(i8) -> bool,
    last: i8,
}

const RESOURCE_TYPE: Codes = Codes { name: "resourceType", is_filter_only: |code| code == ANY, last: 7 };
const PATTERN_TYPE: Codes =
    Codes { name: "patternType", is_filter_only: |code| code == ANY || code == MATCH, last: PREFIXED };
const OPERATION: Codes = Codes { name: "operation", is_filter_only: |code| code == ANY, last: 15 };
const PERMISSION: Codes = Codes { name: "permissionType", is_filter_only: |code| code == ANY, last: 3 };

impl Codes {
    fn knows(self, code: i8) -> bool {
        (1..=self.last).contains(&code)
    }
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Acl {
    pub(crate) resource_type: i8,
    pub(crate) resource_name: String,
    pub(crate) pattern_type: i8,
    pub(crate) principal: String,
    pub(crate) host: String,
    pub(crate) operation: i8,
    pub(crate) permission: i8,
}

/// A condition on entries: all fields must match; `None` and the code for `any` match everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AclFilter<'a> {
    pub(crate) resource_type: i8,
    pub(crate) resource_name: Option<&'a str>,
    pub(crate) pattern_type: i8,
    pub(crate) principal: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) operation: i8,
    pub(crate) permission: i8,
}

/// All entries of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Acls {
    entries: BTreeSet<Acl>,
}

impl Acl {
    /// Whether a field has the code 0, for which Kafka's brokers close the connection.
    pub(crate) fn has_unset_codes(&self) -> bool {
        [self.resource_type, self.pattern_type, self.operation, self.permission].contains(&0)
    }

    /// Whether a field has a code that only filters may have, so that Kafka's brokers cannot read the request.
    pub(crate) fn is_filter(&self) -> bool {
        self.fields().iter().any(|(codes, code)| (codes.is_filter_only)(*code))
    }

    fn fields(&self) -> [(Codes, i8); 4] {
        [
            (RESOURCE_TYPE, self.resource_type),
            (PATTERN_TYPE, self.pattern_type),
            (OPERATION, self.operation),
            (PERMISSION, self.permission),
        ]
    }

    fn validate(&self) -> Result<(), ApiError> {
        let invalid = |text: String| Err(ApiError::new(ErrorCode::InvalidRequest, text));
        if self.resource_type == CLUSTER && self.resource_name != CLUSTER_NAME {
            return invalid(format!("The only valid name for the CLUSTER resource is {CLUSTER_NAME}"));
        }
        if self.resource_name.is_empty() {
            return invalid("Invalid empty resource name".to_owned());
        }
        if let Some((codes, _)) = self.fields().iter().find(|(codes, code)| !codes.knows(*code)) {
            return invalid(format!("Invalid {} UNKNOWN", codes.name));
        }
        if !self.principal.contains(':') {
            let principal = &self.principal;
            return invalid(format!(
                "Could not parse principal from `{principal}` (no colon is present separating the principal type \
                 from the principal name)"
            ));
        }
        Ok(())
    }
}

impl AclFilter<'_> {
    /// Whether a field has the code 0, for which Kafka's brokers close the connection.
    pub(crate) fn has_unset_codes(&self) -> bool {
        [self.resource_type, self.pattern_type, self.operation, self.permission].contains(&0)
    }

    fn validate(&self) -> Result<(), ApiError> {
        let invalid = |text: &str| Err(ApiError::new(ErrorCode::InvalidRequest, text));
        if !RESOURCE_TYPE.knows(self.resource_type) || !PATTERN_TYPE.knows(self.pattern_type) {
            return invalid("Unknown patternFilter.");
        }
        if !OPERATION.knows(self.operation) || !PERMISSION.knows(self.permission) {
            return invalid("Unknown entryFilter.");
        }
        Ok(())
    }

    fn matches(&self, acl: &Acl) -> bool {
        let code = |wanted: i8, actual: i8| wanted == ANY || wanted == actual;
        let text = |wanted: Option<&str>, actual: &str| wanted.is_none_or(|wanted| wanted == actual);
        code(self.resource_type, acl.resource_type)
            && self.matches_pattern(acl)
            && text(self.principal, &acl.principal)
            && text(self.host, &acl.host)
            && code(self.operation, acl.operation)
            && code(self.permission, acl.permission)
    }

    fn matches_pattern(&self, acl: &Acl) -> bool {
        let is_match = self.pattern_type == MATCH;
        if !is_match && self.pattern_type != ANY && self.pattern_type != acl.pattern_type {
            return false;
        }
        match (self.resource_name, acl.pattern_type) {
            (None, _) => true,
            (Some(name), LITERAL) if is_match => name == acl.resource_name || acl.resource_name == WILDCARD,
            (Some(name), PREFIXED) if is_match => name.starts_with(&acl.resource_name),
            (Some(name), _) => name == acl.resource_name,
        }
    }
}

impl Acls {
    /// Creates an entry; one that exists stays.
    pub(crate) fn create(&mut self, acl: Acl) -> Result<(), ApiError> {
        acl.validate()?;
        self.entries.insert(acl);
        Ok(())
    }

    /// The entries that a filter matches, sorted; none if the filter has unknown codes.
    pub(crate) fn matching(&self, filter: &AclFilter<'_>) -> impl Iterator<Item = &Acl> {
        self.entries.iter().filter(|acl| filter.matches(acl))
    }

    /// Deletes the entries that filters match; returns them for each filter.
    pub(crate) fn delete(&mut self, filters: &[AclFilter<'_>]) -> Vec<Result<Vec<Acl>, ApiError>> {
        // An entry that several filters match is a result of each.
        let matching = |filter: &AclFilter<'_>| {
            filter.validate()?;
            Ok(self.matching(filter).cloned().collect())
        };
        let results: Vec<Result<Vec<Acl>, ApiError>> = filters.iter().map(matching).collect();
        for acl in results.iter().flatten().flatten() {
            self.entries.remove(acl);
        }
        results
    }
}
