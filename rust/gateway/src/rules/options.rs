//! [`RuleOptions`]: rules as users state them, for the command, the program and tests alike.

use super::{AccessRules, NameRule};

/// What users state; by default nothing.
#[derive(Debug, Clone, Default)]
pub struct RuleOptions {
    /// Only what consumers do may change the cluster.
    pub read_only: bool,
    /// Nobody administers the cluster.
    pub no_admin: bool,
    /// Kafka's names of APIs.
    pub deny_apis: Vec<String>,
    /// Patterns of topics, of which one must match.
    pub allow_topics: Vec<String>,
    /// Patterns of topics, of which none may match.
    pub deny_topics: Vec<String>,
    /// Patterns of groups, of which one must match.
    pub allow_groups: Vec<String>,
    /// Patterns of groups, of which none may match.
    pub deny_groups: Vec<String>,
}

impl TryFrom<RuleOptions> for AccessRules {
    /// What is no API or no pattern.
    type Error = String;

    fn try_from(options: RuleOptions) -> Result<Self, String> {
        let mut rules = Self::default();
        if options.read_only {
            rules = rules.read_only();
        }
        if options.no_admin {
            rules = rules.no_admin();
        }
        for api in &options.deny_apis {
            rules = rules.deny_api(api)?;
        }
        let topics = NameRule::new(&options.allow_topics, &options.deny_topics)?;
        let groups = NameRule::new(&options.allow_groups, &options.deny_groups)?;
        Ok(rules.with_topics(topics).with_groups(groups))
    }
}
