//! DescribeClientQuotas (API key 48): list quotas.

message! {
    DescribeClientQuotasRequest: versions 0-1, flexible 1+;

    struct DescribeClientQuotasRequest {
        components: Vec<ComponentData> [0+],
        strict: bool [0+],
    }

    struct ComponentData {
        entity_type: String [0+],
        match_type: i8 [0+],
        r#match: Option<String> [0+] nullable [0+],
    }
}

message! {
    DescribeClientQuotasResponse: versions 0-1, flexible 1+;

    struct DescribeClientQuotasResponse {
        throttle_time_ms: i32 [0+],
        error_code: i16 [0+],
        error_message: Option<String> [0+] nullable [0+],
        entries: Option<Vec<EntryData>> [0+] nullable [0+],
    }

    struct EntryData {
        entity: Vec<EntityData> [0+],
        values: Vec<ValueData> [0+],
    }

    struct EntityData {
        entity_type: String [0+],
        entity_name: Option<String> [0+] nullable [0+],
    }

    struct ValueData {
        key: String [0+],
        value: f64 [0+],
    }
}
