//! [`AccessRules`]: which requests the gateway does not pass on, and what it takes out of responses. No I/O.
//!
//! - `options.rs`: rules as users state them.
//! - `classes.rs`: which APIs change what. `names.rs`: topics and groups by patterns.
//! - `offered.rs`: the versions that are offered. `filter.rs`: what responses do not show.
//! - `produce.rs`: the partitions in a request with records.
//!
//! Invariants: nothing of a denied request reaches a broker; the client gets Kafka's own authorization errors
//! (`crate::refusal`). What cannot be judged is denied: an API that names topics or groups, and for which there is no
//! refusal, is not offered. Without a rule no request is looked at.

mod classes;
mod filter;
mod names;
mod offered;
mod options;
mod produce;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::header::{self, RequestHeader};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::wire::{Reader, Uuid};
use ottla_protocol::{ApiKey, ErrorCode, Message, WireError};

pub(crate) use filter::Filter;
use names::NameRule;
pub use options::RuleOptions;
use produce::{PARTITIONS_MAX, partitions};

use crate::refusal::{self, Codes, Named};
use crate::rewrite::supported_versions;
use crate::stream::{RequestHead, Violation};
use crate::topic_ids::TopicIds;

/// The longest request that is read whole, to be judged or changed: what it becomes in memory is some hundred times as
/// long at worst.
const GATHERED_MAX: usize = 1024 * 1024;
/// The longest request with records that is read whole.
const RECORDS_MAX: usize = 16 * 1024 * 1024;
/// The first version of Metadata that asks for topics by their ids.
const FIRST_BY_ID: i16 = 12;
/// The APIs that every client needs.
const NEEDED: [ApiKey; 4] =
    [ApiKey::ApiVersions, ApiKey::Metadata, ApiKey::SaslHandshake, ApiKey::SaslAuthenticate];
/// The APIs whose requests name neither topics nor groups, and whose responses show none.
const NAMES_NOTHING: [ApiKey; 22] = [
    ApiKey::AddRaftVoter,
    ApiKey::AlterClientQuotas,
    ApiKey::AlterUserScramCredentials,
    ApiKey::CreateAcls,
    ApiKey::CreateDelegationToken,
    ApiKey::DeleteAcls,
    ApiKey::DescribeAcls,
    ApiKey::DescribeClientQuotas,
    ApiKey::DescribeCluster,
    ApiKey::DescribeDelegationToken,
    ApiKey::DescribeQuorum,
    ApiKey::DescribeTransactions,
    ApiKey::DescribeUserScramCredentials,
    ApiKey::EndTxn,
    ApiKey::ExpireDelegationToken,
    ApiKey::InitProducerId,
    ApiKey::ListTransactions,
    ApiKey::RemoveRaftVoter,
    ApiKey::RenewDelegationToken,
    ApiKey::UnregisterBroker,
    ApiKey::UnregisterController,
    ApiKey::UpdateFeatures,
];
/// What responses say about a refusal.
const MESSAGE: &str = "the gateway does not allow this";

/// Which requests are not passed on, and what responses do not show.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    denied: BTreeSet<ApiKey>,
    /// Whether requests for metadata must not create topics.
    creates_no_topics: bool,
    topics: NameRule,
    groups: NameRule,
    /// Whether a topic is allowed, by its id. One that is not known is not, since it may be that of a topic that is not.
    ids: Arc<TopicIds<bool>>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RuleRuling {
    /// It goes to the broker, and its response is filtered.
    Pass(Option<Filter>),
    /// It must be whole, and not longer than this.
    Gather(usize),
    /// The gateway responds with this frame.
    Answer(Bytes),
    /// This frame goes to the broker in its place, and its response is filtered.
    Replace(Bytes, Option<Filter>),
}

impl AccessRules {
    /// Denies all that changes the cluster, except what consumers do: memberships of groups, offsets of groups, and
    /// acknowledgements of share groups.
    #[must_use]
    fn read_only(mut self) -> Self {
        self.denied.extend(classes::ADMINISTRATION.iter().chain(classes::WRITING));
        self.creates_no_topics = true;
        self
    }

    /// Denies what administers the cluster: topics, configurations, access, quotas, users, groups, brokers. Nothing else
    /// creates topics either.
    #[must_use]
    fn no_admin(mut self) -> Self {
        self.denied.extend(classes::ADMINISTRATION);
        self.creates_no_topics = true;
        self
    }

    /// Denies an API by Kafka's name of it.
    ///
    /// # Errors
    /// A message if there is no such API, or clients cannot do without it.
    fn deny_api(mut self, name: &str) -> Result<Self, String> {
        let api = ApiKey::ALL.iter().find(|api| api.name().eq_ignore_ascii_case(name));
        let api =
            api.ok_or_else(|| format!("there is no API {name:?}: expected a name such as DeleteTopics"))?;
        if NEEDED.contains(api) {
            return Err(format!("{} cannot be denied: every client needs it", api.name()));
        }
        self.denied.insert(*api);
        Ok(self)
    }

    /// Limits the topics that clients may use.
    #[must_use]
    fn with_topics(mut self, topics: NameRule) -> Self {
        self.topics = topics;
        self
    }

    /// Limits the groups that clients may use, of every kind.
    #[must_use]
    fn with_groups(mut self, groups: NameRule) -> Self {
        self.groups = groups;
        self
    }

    /// Whether there is no rule.
    pub(crate) fn is_empty(&self) -> bool {
        self.denied.is_empty() && !self.creates_no_topics && !self.limits_names()
    }

    /// Whether the ids of topics matter.
    pub(crate) fn limits_topics(&self) -> bool {
        !self.topics.is_empty()
    }

    fn limits_names(&self) -> bool {
        self.limits_topics() || !self.groups.is_empty()
    }

    /// Remembers the topic of an id.
    pub(crate) fn learn(&self, id: Uuid, name: &str) {
        self.learn_allowed(id, self.topics.allows(name));
    }

    fn learn_allowed(&self, id: Uuid, is_allowed: bool) {
        self.ids.learn(id, |known| *known == is_allowed, || is_allowed);
    }

    /// Whether the API's requests must be decoded if these are to pass.
    fn is_judged(&self, api: ApiKey) -> bool {
        let creates_topics = self.creates_no_topics && api == ApiKey::StreamsGroupHeartbeat;
        creates_topics || (self.limits_names() && refusal::is_known(api) && !NAMES_NOTHING.contains(&api))
    }

    /// Whether requests for metadata are changed.
    fn changes_metadata(&self) -> bool {
        self.creates_no_topics || self.limits_topics()
    }

    /// Decides what becomes of a request.
    pub(crate) fn judge(&self, head: &RequestHead<'_>) -> Result<RuleRuling, Violation> {
        let api = head.api;
        let offered = self.limit(api, supported_versions(api));
        let is_offered = offered.is_some_and(|(min, max)| (min..=max).contains(&head.version));
        if !is_offered && api != ApiKey::ApiVersions {
            // As of an API or a version that does not exist.
            return Err(Violation::Denied(api.name()));
        }
        let is_refused = self.denied.contains(&api);
        let is_changed = api == ApiKey::Metadata && self.changes_metadata();
        if !is_refused && !is_changed && !self.is_judged(api) {
            return Ok(RuleRuling::Pass(None));
        }
        if is_refused && !head.expects_response {
            // Without a response brokers close the connection.
            return Err(Violation::Denied(api.name()));
        }
        if !head.is_whole {
            return Ok(RuleRuling::Gather(if api == ApiKey::Produce { RECORDS_MAX } else { GATHERED_MAX }));
        }
        let body = Bytes::copy_from_slice(head.body);
        let malformed = |_| Violation::MalformedRequest(api.name());
        if is_changed {
            return self.judge_metadata(head, body).map_err(malformed);
        }
        if api == ApiKey::Produce
            && partitions(body.clone(), head.version).map_err(malformed)? > PARTITIONS_MAX
        {
            return Err(Violation::Denied("Produce with so many partitions"));
        }
        let of = |named: Named<'_>| self.code(named, is_refused);
        let codes = Codes::new(&of, MESSAGE);
        let refused = refusal::refuse(api, head.version, head.correlation_id, body.clone(), &codes);
        let frame = refused.ok_or(Violation::Denied(api.name()))?.map_err(malformed)?;
        if !codes.any() && !is_refused {
            return Ok(RuleRuling::Pass(self.filter_of(api)));
        }
        match head.expects_response {
            true => Ok(RuleRuling::Answer(frame.to_bytes())),
            false => Err(Violation::Denied(api.name())),
        }
    }

    /// The code of something that a request names; `None` if nothing speaks against it.
    fn code(&self, named: Named<'_>, is_refused: bool) -> Option<ErrorCode> {
        let is_allowed = !is_refused
            && match named {
                Named::Topic(name, _) => self.topics.allows(name),
                Named::CreatedTopic(name) => !self.creates_no_topics && self.topics.allows(name),
                Named::AllTopics => !self.limits_topics(),
                Named::TopicId(id, _) if self.limits_topics() => match self.ids.get(id) {
                    Some(is_allowed) => is_allowed,
                    // The client asks for the metadata then, by which the gateway learns it.
                    None => return Some(ErrorCode::UnknownTopicId),
                },
                Named::Group(name) => self.groups.allows(name),
                Named::TopicId(..) | Named::Cluster | Named::TransactionalId(_) | Named::Token => true,
            };
        let code = match named {
            Named::Topic(..) | Named::TopicId(..) | Named::CreatedTopic(_) => {
                ErrorCode::TopicAuthorizationFailed
            }
            Named::Group(_) => ErrorCode::GroupAuthorizationFailed,
            Named::TransactionalId(_) => ErrorCode::TransactionalIdAuthorizationFailed,
            Named::Cluster | Named::AllTopics => ErrorCode::ClusterAuthorizationFailed,
            Named::Token => ErrorCode::DelegationTokenAuthorizationFailed,
        };
        (!is_allowed).then_some(code)
    }

    /// How the response to a request that passes is filtered.
    fn filter_of(&self, api: ApiKey) -> Option<Filter> {
        let shows_all = match api {
            ApiKey::ListGroups => !self.groups.is_empty(),
            ApiKey::ListConfigResources => true,
            _ => false,
        };
        shows_all.then_some(Filter::LeaveOut)
    }

    /// Decides about a request for metadata, which must not create a topic that clients may not use.
    fn judge_metadata(&self, head: &RequestHead<'_>, body: Bytes) -> Result<RuleRuling, WireError> {
        let mut request = MetadataRequest::decode(&mut Reader::new(body), head.version)?;
        let topics = request.topics.as_deref();
        let filter = match topics {
            _ if !self.limits_topics() => None,
            None => Some(Filter::LeaveOut),
            // As soon as one has an id, brokers look at nothing else.
            Some(topics) if head.version >= FIRST_BY_ID && topics.iter().any(has_id) => Some(Filter::ById),
            Some(_) => Some(Filter::ByName),
        };
        let mut names = topics.into_iter().flatten().filter_map(|topic| topic.name.as_deref());
        let may_create = !self.creates_no_topics && names.all(|name| self.topics.allows(name));
        if may_create || !request.allow_auto_topic_creation {
            return Ok(RuleRuling::Pass(filter));
        }
        request.allow_auto_topic_creation = false;
        let header = RequestHeader {
            api_key: ApiKey::Metadata as i16,
            api_version: head.version,
            correlation_id: head.correlation_id,
            client_id: head.client_id.map(|id| String::from_utf8_lossy(id).into_owned()),
        };
        let header_version = ApiKey::Metadata.request_header_version(head.version);
        let frame = header::request_frame(&header, header_version, &request)?;
        Ok(RuleRuling::Replace(frame.to_bytes(), filter))
    }
}

/// Whether a request for metadata asks for a topic by its id.
fn has_id(topic: &MetadataRequestTopic) -> bool {
    topic.name.is_none() || !topic.topic_id.is_zero()
}

#[cfg(test)]
mod tests;
