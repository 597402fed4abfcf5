//! DescribeDelegationToken (41), versions 1–3: the tokens that concern the requested principals, or all. The requester
//! from version 3. The mock lets every authenticated user see all tokens, as a broker does for a super user.

use ottla_protocol::messages::describe_delegation_token::{
    DescribeDelegationTokenRequest, DescribeDelegationTokenResponse, DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{DelegationToken, Principal};

/// The first version with the requester.
const WITH_REQUESTER: i16 = 3;

impl RequestHandler for DescribeDelegationTokenRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeDelegationTokenResponse> {
        let mut response = DescribeDelegationTokenResponse::default();
        if let Err(code) = context.check_any_fault().and_then(|()| context.token_user().map(drop)) {
            response.error_code = code.code();
            return HandlerResult::Response(response);
        }
        let owners = self.owners.as_ref().map(|owners| {
            let principal = owners.iter().map(|owner| Principal {
                kind: owner.principal_type.clone(),
                name: owner.principal_name.clone(),
            });
            principal.collect::<Vec<_>>()
        });
        let is_wanted = |token: &&DelegationToken| {
            owners.as_ref().is_none_or(|owners| owners.iter().any(|owner| token.concerns(owner)))
        };
        let tokens = context.state.tokens.iter().filter(is_wanted);
        response.tokens = tokens.map(|token| describe(token, context.version)).collect();
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DescribeDelegationTokenResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(token: &DelegationToken, version: i16) -> DescribedDelegationToken {
    let renewer = |principal: &Principal| DescribedDelegationTokenRenewer {
        principal_type: principal.kind.clone(),
        principal_name: principal.name.clone(),
    };
    let mut described = DescribedDelegationToken {
        principal_type: token.owner.kind.clone(),
        principal_name: token.owner.name.clone(),
        issue_timestamp: token.issued,
        expiry_timestamp: token.expires,
        max_timestamp: token.latest,
        token_id: token.id.clone(),
        hmac: token.hmac.clone(),
        renewers: token.renewers.iter().map(renewer).collect(),
        ..DescribedDelegationToken::default()
    };
    if version >= WITH_REQUESTER {
        described.token_requester_principal_type.clone_from(&token.requester.kind);
        described.token_requester_principal_name.clone_from(&token.requester.name);
    }
    described
}
