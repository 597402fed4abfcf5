//! CreateAcls (30), versions 1–3: creates access control entries. An entry that exists is a success.
//!
//! As in Kafka, a field with the code 0 closes the connection, and one with a code for filters fails the whole request.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_acls::{
    AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{Acl, ApiError};

impl RequestHandler for CreateAclsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<CreateAclsResponse> {
        let acls: Vec<Acl> = self.creations.iter().map(read).collect();
        if acls.iter().any(Acl::has_unset_codes) {
            return HandlerResult::Close;
        }
        let readable = !acls.iter().any(Acl::is_filter);
        let results = acls.into_iter().map(|acl| {
            if !readable {
                let error_code = ErrorCode::UnknownServerError.code();
                return AclCreationResult { error_code, error_message: None };
            }
            let error = create(context, acl).err();
            AclCreationResult {
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                // Kafka has an empty message for a success.
                error_message: Some(error.map(|error| error.message).unwrap_or_default()),
            }
        });
        HandlerResult::Response(CreateAclsResponse { results: results.collect(), ..Default::default() })
    }

    fn throttle_time(response: &mut CreateAclsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn create(context: &mut RequestContext<'_>, acl: Acl) -> Result<(), ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_any_fault().map_err(plain)?;
    context.state.acls.create(acl)?;
    context.check_any_fault_after_handling().map_err(plain)
}

fn read(creation: &AclCreation) -> Acl {
    Acl {
        resource_type: creation.resource_type,
        resource_name: creation.resource_name.clone(),
        pattern_type: creation.resource_pattern_type,
        principal: creation.principal.clone(),
        host: creation.host.clone(),
        operation: creation.operation,
        permission: creation.permission_type,
    }
}
