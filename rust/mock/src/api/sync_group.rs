//! SyncGroup (14), versions 0–5: get an assignment; it comes when the leader has brought it.
//!
//! Static members from 3 on; from 5 on the protocol is named and has to be the group's.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tokio::sync::oneshot::error::TryRecvError;

use super::{Call, Pending, Serve, Served};
use crate::group::Committer;
use crate::group::classic::{Reply, Sync, Synced};

/// The first version that names the protocol.
const NAMES_PROTOCOL: i16 = 5;

impl Serve for SyncGroupRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<SyncGroupResponse> {
        let synced = match sync(self, call) {
            Ok(Some(synced)) => call.late_fault().map_or_else(Synced::refused, |()| synced),
            Ok(None) => return Served::Until(call.group_due(&self.group_id)),
            Err(code) => Synced::refused(code),
        };
        Served::Answer(SyncGroupResponse {
            error_code: synced.error.unwrap_or(ErrorCode::None).code(),
            protocol_type: synced.protocol_type,
            protocol_name: synced.protocol,
            assignment: synced.assignment,
            ..SyncGroupResponse::default()
        })
    }

    fn throttle_time(response: &mut SyncGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn sync(request: &SyncGroupRequest, call: &mut Call<'_>) -> Result<Option<Synced>, ErrorCode> {
    call.whole_fault()?;
    call.enter_group(&request.group_id)?;
    let mut receiver = match std::mem::take(call.pending) {
        Pending::Sync(receiver) => receiver,
        _ => match ask(request, call)? {
            Reply::Now(synced) => return Ok(Some(synced)),
            Reply::Later(receiver) => receiver,
        },
    };
    match receiver.try_recv() {
        Ok(synced) => Ok(Some(synced)),
        Err(TryRecvError::Empty) => {
            *call.pending = Pending::Sync(receiver);
            Ok(None)
        }
        Err(TryRecvError::Closed) => Err(ErrorCode::UnknownMemberId),
    }
}

fn ask(request: &SyncGroupRequest, call: &mut Call<'_>) -> Result<Reply<Synced>, ErrorCode> {
    let unnamed = request.protocol_type.is_none() || request.protocol_name.is_none();
    if call.version >= NAMES_PROTOCOL && unnamed {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    let group = call.state.groups.get_mut(&request.group_id).ok_or(ErrorCode::UnknownMemberId)?;
    let group = group.classic_mut().ok_or(ErrorCode::UnknownMemberId)?;
    let sync = Sync {
        member: Committer {
            member_id: &request.member_id,
            instance_id: request.group_instance_id.as_deref(),
            epoch: request.generation_id,
        },
        protocol_type: request.protocol_type.as_deref(),
        protocol: request.protocol_name.as_deref(),
        assignments: request.assignments.iter().map(|a| (a.member_id.as_str(), &a.assignment)).collect(),
    };
    let reply = group.sync(&sync, call.clock);
    call.changed = true;
    Ok(reply)
}
