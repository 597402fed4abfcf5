//! DescribeAcls (29), versions 1–3: the access control entries that a filter matches, by resource.
//!
//! As in Kafka, a field with the code 0 closes the connection, and an unknown code matches nothing.

use ottla_protocol::messages::describe_acls::{
    AclDescription, DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::AclFilter;

impl RequestHandler for DescribeAclsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeAclsResponse> {
        let filter = AclFilter {
            resource_type: self.resource_type_filter,
            resource_name: self.resource_name_filter.as_deref(),
            pattern_type: self.pattern_type_filter,
            principal: self.principal_filter.as_deref(),
            host: self.host_filter.as_deref(),
            operation: self.operation,
            permission: self.permission_type,
        };
        if filter.has_unset_codes() {
            return HandlerResult::Close;
        }
        let mut response =
            DescribeAclsResponse { error_message: Some(String::new()), ..DescribeAclsResponse::default() };
        if let Err(code) = context.check_any_fault() {
            response.error_code = code.code();
            response.error_message = Some(code.meaning().to_owned());
            return HandlerResult::Response(response);
        }
        let resources: &mut Vec<DescribeAclsResource> = &mut response.resources;
        // Sorted, so that the entries of a resource follow each other.
        for acl in context.state.acls.matching(&filter) {
            let same = |last: &&mut DescribeAclsResource| {
                (last.resource_type, last.pattern_type) == (acl.resource_type, acl.pattern_type)
                    && last.resource_name == acl.resource_name
            };
            let entry = AclDescription {
                principal: acl.principal.clone(),
                host: acl.host.clone(),
                operation: acl.operation,
                permission_type: acl.permission,
            };
            match resources.last_mut().filter(same) {
                Some(resource) => resource.acls.push(entry),
                None => resources.push(DescribeAclsResource {
                    resource_type: acl.resource_type,
                    resource_name: acl.resource_name.clone(),
                    pattern_type: acl.pattern_type,
                    acls: vec![entry],
                }),
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut DescribeAclsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}
