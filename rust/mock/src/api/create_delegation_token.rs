//! CreateDelegationToken (38), versions 1–3: creates a token for the user of the connection, from version 3 also for
//! another one (KIP-373). Only authenticated connections may, and none that a token has authenticated.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_delegation_token::{
    CreateDelegationTokenRequest, CreateDelegationTokenResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::session::ANONYMOUS;
use crate::state::{DelegationToken, NewToken, Principal};

/// The first version with an owner, and with the requester in the response.
const WITH_OWNER: i16 = 3;

impl RequestHandler for CreateDelegationTokenRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<CreateDelegationTokenResponse> {
        let requester = context.session.principal().cloned();
        let requester = requester.unwrap_or_else(|| Principal::user(ANONYMOUS));
        let owner = match &self.owner_principal_name {
            Some(name) if !name.is_empty() => {
                let kind = self.owner_principal_type.clone().unwrap_or_default();
                Principal { kind, name: name.clone() }
            }
            _ => requester.clone(),
        };
        let mut response = CreateDelegationTokenResponse {
            principal_type: owner.kind.clone(),
            principal_name: owner.name.clone(),
            issue_timestamp_ms: -1,
            expiry_timestamp_ms: -1,
            max_timestamp_ms: -1,
            ..CreateDelegationTokenResponse::default()
        };
        if context.version >= WITH_OWNER {
            response.token_requester_principal_type.clone_from(&requester.kind);
            response.token_requester_principal_name.clone_from(&requester.name);
        }
        let renewers = self.renewers.iter();
        let new = NewToken {
            owner,
            requester,
            renewers: renewers
                .map(|r| Principal { kind: r.principal_type.clone(), name: r.principal_name.clone() })
                .collect(),
            max_lifetime_ms: self.max_lifetime_ms,
        };
        match create(context, new) {
            Ok(token) => {
                response.issue_timestamp_ms = token.issued;
                response.expiry_timestamp_ms = token.expires;
                response.max_timestamp_ms = token.latest;
                response.token_id = token.id;
                response.hmac = token.hmac;
            }
            Err(code) => response.error_code = code.code(),
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut CreateDelegationTokenResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn create(context: &mut RequestContext<'_>, new: NewToken) -> Result<DelegationToken, ErrorCode> {
    context.check_any_fault()?;
    context.token_user()?;
    let token = context.state.tokens.create(new, context.now)?.clone();
    context.check_any_fault_after_handling()?;
    Ok(token)
}
