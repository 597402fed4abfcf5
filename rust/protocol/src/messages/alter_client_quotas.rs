//! AlterClientQuotas (API key 49): change quotas.

message! {
    AlterClientQuotasRequest: versions 0-1, flexible 1+;

    struct AlterClientQuotasRequest {
        entries: Vec<EntryData> [0+],
        validate_only: bool [0+],
    }

    struct EntryData {
        entity: Vec<EntityData> [0+],
        ops: Vec<OpData> [0+],
    }

    struct EntityData {
        entity_type: String [0+],
        entity_name: Option<String> [0+] nullable [0+],
    }

    struct OpData {
        key: String [0+],
        value: f64 [0+],
        remove: bool [0+],
    }
}

message! {
    AlterClientQuotasResponse: versions 0-1, flexible 1+;

    struct AlterClientQuotasResponse {
        throttle_time_ms: i32 [0+],
        entries: Vec<AlterClientQuotasEntryData> [0+],
    }

    struct AlterClientQuotasEntryData {
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        entity: Vec<AlterClientQuotasEntityData> [0+],
    }

    struct AlterClientQuotasEntityData {
        entity_type: String [0+],
        entity_name: Option<String> [0+] nullable [0+],
    }
}
