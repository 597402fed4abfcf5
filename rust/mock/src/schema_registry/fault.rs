//! Faults of the registry as data: a condition on requests, and a reaction to those that meet it.
//!
//! Invariant: a fault hits at most `times` requests, and only after `skip` matching ones have passed. Of
//! several faults, a request meets only the first, so that a script of faults hits one request each.

use std::time::Duration;

use bytes::Bytes;

/// A fault: a condition on requests and a reaction to those that meet it.
#[derive(Debug, Clone)]
pub struct RegistryFault {
    /// The requests that it may hit.
    pub on: RegistryMatch,
    /// What happens to a request that it hits.
    pub then: RegistryReaction,
    /// The maximum number of hits; `None` means no limit.
    pub times: Option<u64>,
}

impl RegistryFault {
    /// A fault that hits every request.
    #[must_use]
    pub fn always(then: RegistryReaction) -> Self {
        Self { on: RegistryMatch::default(), then, times: None }
    }

    /// A fault that hits one request.
    #[must_use]
    pub fn once(then: RegistryReaction) -> Self {
        Self { on: RegistryMatch::default(), then, times: Some(1) }
    }

    /// Restricts it to requests whose path begins so.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.on.path = Some(path.to_owned());
        self
    }
}

/// A condition on requests: all fields that are set must match.
#[derive(Debug, Clone, Default)]
pub struct RegistryMatch {
    /// Requests with this method.
    pub method: Option<String>,
    /// Requests whose path begins so.
    pub path: Option<String>,
    /// The number of matching requests to leave unharmed first.
    pub skip: u64,
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum RegistryReaction {
    /// Respond with this status; the request has no effect.
    Status {
        /// The status.
        status: u16,
        /// The registry's error code; `None` means no JSON.
        code: Option<i64>,
        /// The message.
        message: String,
        /// The value of `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// Handle the request after this delay.
    Delay(Duration),
    /// Never respond, and keep the connection open. The request has no effect.
    Silence,
    /// Close the connection instead of responding; the request has no effect.
    Disconnect,
    /// Handle the request, and close the connection instead of responding.
    DisconnectAfterHandling,
    /// Respond with status 200 and this body; the request has no effect.
    Body {
        /// The media type.
        content_type: String,
        /// The body.
        body: Bytes,
    },
    /// Redirect to this address; the request has no effect.
    Redirect(String),
}

/// The id of an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegistryFaultId(pub u64);

#[derive(Debug)]
struct Injected {
    id: RegistryFaultId,
    fault: RegistryFault,
    passed: u64,
    hits: u64,
}

/// The injected faults, including those with no hits left, whose counts remain available.
#[derive(Debug, Default)]
pub(super) struct RegistryFaults {
    next: u64,
    faults: Vec<Injected>,
}

impl RegistryFaults {
    pub(super) fn inject(&mut self, fault: RegistryFault) -> RegistryFaultId {
        let id = RegistryFaultId(self.next);
        self.next += 1;
        self.faults.push(Injected { id, fault, passed: 0, hits: 0 });
        id
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    pub(super) fn hits(&self, id: RegistryFaultId) -> u64 {
        self.faults.iter().find(|injected| injected.id == id).map_or(0, |injected| injected.hits)
    }

    /// The reaction to a request, if a fault hits it.
    pub(super) fn hit(&mut self, method: &str, path: &str) -> Option<RegistryReaction> {
        for injected in &mut self.faults {
            let RegistryFault { on, then, times } = &injected.fault;
            let matches = on.method.as_deref().is_none_or(|it| it.eq_ignore_ascii_case(method))
                && on.path.as_deref().is_none_or(|it| path.starts_with(it));
            if !matches || times.is_some_and(|times| injected.hits >= times) {
                continue;
            }
            if injected.passed < on.skip {
                injected.passed += 1;
                continue;
            }
            injected.hits += 1;
            return Some(then.clone());
        }
        None
    }
}
