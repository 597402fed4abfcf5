//! [`Filter`]: takes out of responses what clients must not see.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_config_resources::ListConfigResourcesResponse;
use ottla_protocol::messages::list_groups::ListGroupsResponse;
use ottla_protocol::messages::metadata::{MetadataResponse, MetadataResponseTopic};

use super::AccessRules;
use crate::refusal::{RESOURCE_GROUP, RESOURCE_TOPIC};

/// What becomes of a topic or a group in a response that clients may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// It is left out: the request asked for all.
    LeaveOut,
    /// It has an error: the request named it.
    ByName,
    /// It has an error: the request named its id.
    ById,
}

impl AccessRules {
    /// Filters the topics of Metadata, and learns their ids.
    pub(crate) fn filter_metadata(&self, response: &mut MetadataResponse, filter: Filter) {
        response.topics.retain_mut(|topic| {
            let Some(name) = &topic.name else { return true };
            let is_allowed = self.topics.allows(name);
            self.learn_allowed(topic.topic_id, is_allowed);
            if is_allowed {
                return true;
            }
            // As brokers answer to those who must not know whether the topic exists.
            let denied =
                |code: ErrorCode| MetadataResponseTopic { error_code: code.code(), ..Default::default() };
            match filter {
                Filter::LeaveOut => return false,
                Filter::ByName => {
                    let name = topic.name.take();
                    *topic = MetadataResponseTopic { name, ..denied(ErrorCode::TopicAuthorizationFailed) };
                }
                Filter::ById => {
                    let topic_id = topic.topic_id;
                    *topic =
                        MetadataResponseTopic { topic_id, name: None, ..denied(ErrorCode::UnknownTopicId) };
                }
            }
            true
        });
    }

    /// Filters the topics and groups of ListConfigResources.
    pub(crate) fn filter_resources(&self, response: &mut ListConfigResourcesResponse) {
        response.config_resources.retain(|resource| match resource.resource_type {
            RESOURCE_TOPIC => self.topics.allows(&resource.resource_name),
            RESOURCE_GROUP => self.groups.allows(&resource.resource_name),
            _ => true,
        });
    }

    /// Filters the groups of ListGroups.
    pub(crate) fn filter_groups(&self, response: &mut ListGroupsResponse) {
        response.groups.retain(|group| self.groups.allows(&group.group_id));
    }
}
