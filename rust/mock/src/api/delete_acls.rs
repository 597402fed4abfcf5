//! DeleteAcls (31), versions 1–3: deletes the access control entries that filters match, and returns them.
//!
//! As in Kafka, a field with the code 0 closes the connection, and an entry that several filters match is a result of
//! each.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_acls::{
    DeleteAclsFilter, DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsRequest, DeleteAclsResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{Acl, AclFilter, ApiError};

impl RequestHandler for DeleteAclsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DeleteAclsResponse> {
        let filters: Vec<AclFilter<'_>> = self.filters.iter().map(read).collect();
        if filters.iter().any(AclFilter::has_unset_codes) {
            return HandlerResult::Close;
        }
        let failed =
            |code: ErrorCode| filters.iter().map(|_| Err(ApiError::new(code, code.meaning()))).collect();
        let mut results = match context.check_any_fault() {
            Ok(()) => context.state.acls.delete(&filters),
            Err(code) => failed(code),
        };
        if let Err(code) = context.check_any_fault_after_handling() {
            results = failed(code);
        }
        let filter_results = results.into_iter().map(result).collect();
        HandlerResult::Response(DeleteAclsResponse { filter_results, ..Default::default() })
    }

    fn throttle_time(response: &mut DeleteAclsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn read(filter: &DeleteAclsFilter) -> AclFilter<'_> {
    AclFilter {
        resource_type: filter.resource_type_filter,
        resource_name: filter.resource_name_filter.as_deref(),
        pattern_type: filter.pattern_type_filter,
        principal: filter.principal_filter.as_deref(),
        host: filter.host_filter.as_deref(),
        operation: filter.operation,
        permission: filter.permission_type,
    }
}

fn result(outcome: Result<Vec<Acl>, ApiError>) -> DeleteAclsFilterResult {
    match outcome {
        Ok(deleted) => DeleteAclsFilterResult {
            matching_acls: deleted.into_iter().map(matching).collect(),
            ..DeleteAclsFilterResult::default()
        },
        Err(error) => DeleteAclsFilterResult {
            error_code: error.code.code(),
            error_message: Some(error.message),
            matching_acls: Vec::new(),
        },
    }
}

fn matching(acl: Acl) -> DeleteAclsMatchingAcl {
    DeleteAclsMatchingAcl {
        error_code: 0,
        error_message: None,
        resource_type: acl.resource_type,
        resource_name: acl.resource_name,
        pattern_type: acl.pattern_type,
        principal: acl.principal,
        host: acl.host,
        operation: acl.operation,
        permission_type: acl.permission,
    }
}
