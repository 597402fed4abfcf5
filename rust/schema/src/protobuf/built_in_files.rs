//! The .proto files that a schema may import without a reference, and the largest number of files in a schema.
//!
//! Invariant: the built-in files are exactly those that Confluent's serializers do not register as references.

/// The largest number of files in a schema.
pub(super) const MAX_FILES: usize = 200;

pub(super) const GOOGLE: &str = "google/protobuf/";

/// Files that Confluent's serializers do not register as references.
pub(super) const KNOWN: [(&str, &str); 20] = [
    ("confluent/meta.proto", include_str!("confluent/meta.proto")),
    ("confluent/type/decimal.proto", include_str!("confluent/type/decimal.proto")),
    ("confluent/type/variant.proto", include_str!("confluent/type/variant.proto")),
    ("google/type/calendar_period.proto", include_str!("google_type/calendar_period.proto")),
    ("google/type/color.proto", include_str!("google_type/color.proto")),
    ("google/type/date.proto", include_str!("google_type/date.proto")),
    ("google/type/datetime.proto", include_str!("google_type/datetime.proto")),
    ("google/type/dayofweek.proto", include_str!("google_type/dayofweek.proto")),
    ("google/type/decimal.proto", include_str!("google_type/decimal.proto")),
    ("google/type/expr.proto", include_str!("google_type/expr.proto")),
    ("google/type/fraction.proto", include_str!("google_type/fraction.proto")),
    ("google/type/interval.proto", include_str!("google_type/interval.proto")),
    ("google/type/latlng.proto", include_str!("google_type/latlng.proto")),
    ("google/type/localized_text.proto", include_str!("google_type/localized_text.proto")),
    ("google/type/money.proto", include_str!("google_type/money.proto")),
    ("google/type/month.proto", include_str!("google_type/month.proto")),
    ("google/type/phone_number.proto", include_str!("google_type/phone_number.proto")),
    ("google/type/postal_address.proto", include_str!("google_type/postal_address.proto")),
    ("google/type/quaternion.proto", include_str!("google_type/quaternion.proto")),
    ("google/type/timeofday.proto", include_str!("google_type/timeofday.proto")),
];

/// Returns whether a schema may import a file without a reference.
pub(super) fn is_built_in(name: &str) -> bool {
    name.starts_with(GOOGLE) || KNOWN.iter().any(|(path, _)| *path == name)
}
